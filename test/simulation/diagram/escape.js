/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\'': '&#39;' }

/** @param {string} text @returns {string} for HTML and SVG; characters that XML forbids are replaced */
export const escaped = (text) => text
  .replaceAll(/[&<>"']/g, (character) => ENTITIES[character])
  .replaceAll(/[^\t\n\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '�')

/** @param {string} text @param {number} length @returns {string} */
export const shortened = (text, length) => text.length <= length ? text : `${text.slice(0, length - 1)}…`
