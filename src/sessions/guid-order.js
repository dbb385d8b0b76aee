/** The order of guids in lists: by their UTF-8 bytes, as Redis compares, and not by language. */

/** @param {string} a @param {string} b */
export const isBefore = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0

/**
 * @param {Iterable<string>} guids
 * @param {number} limit
 * @returns {string[]} the first ones, each once
 */
export const firstOf = (guids, limit) =>
  Array.from(new Set(guids), (guid) => Buffer.from(guid)).sort(Buffer.compare).slice(0, limit).map(String)
