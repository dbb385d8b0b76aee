/**
 * Delay before a repetition: doubles with each failure, half of it at random. The time in a refusal is the minimum.
 *
 * @param {any} error of the last try, with `retryInMs` in ms if the gateway gave a time
 * @param {number} failures before it, in a row
 * @param {{ min: number, max: number }} range ms
 * @returns {number} ms
 */
export const pauseAfter = (error, failures, { min, max }) =>
  Math.max(error?.retryInMs ?? 0, Math.min(max, min * 2 ** failures) * (0.5 + Math.random() / 2))
