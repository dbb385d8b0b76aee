/** @param {number} ms */
export const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`
