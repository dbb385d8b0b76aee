import { BLOCKS } from '../../src/config/blocks.js'

/** @typedef {import('../../src/config/setting.js').Setting} Setting */

/** All settings, by name. @type {Map<string, Setting>} */
export const SETTINGS = new Map(Object.values(BLOCKS).flatMap(({ settings }) =>
  /** @type {[string, Setting][]} */ (Object.entries(settings))))
