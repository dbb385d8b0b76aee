/**
 * Time for delays and deadlines, in one place, so that tests can replace it. Not the time of day, because people and
 * NTP set it.
 */
export const clock = {
  /** @returns {number} ms since some moment; never set and never goes back */
  monotonic: () => performance.now()
}
