import { random } from './random.js'

/** @returns {string} 24 characters, different from those of all other pages, and no secret */
export const randomId = () => Array.from({ length: 24 }, () => Math.floor(random.number() * 36).toString(36)).join('')
