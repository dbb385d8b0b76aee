import { createSigner } from 'fast-jwt'
import { SECRET } from './cluster.js'

/** @type {(claims: object) => string} */
export const signToken = createSigner({ key: SECRET, algorithm: 'HS256', noTimestamp: true })
