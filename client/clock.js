/**
 * Time for pauses and deadlines, in one place, so that tests can replace it. The time of day would not do: people and
 * NTP set it.
 */
export const clock = {
  /** @returns {number} ms since some moment; never set, never goes back */
  monotonic: () => performance.now()
}
