/** Random numbers, in one place, so that tests can replace them. */
export const random = {
  /** @returns {number} 0 up to 1; not for secrets */
  number: Math.random
}
