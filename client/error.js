/**
 * What every promise of the client is rejected with, and what `client.reason` is. Most codes are the gateway's
 * (docs/errors.md); the client's own are `disconnected`, `timeout`, `closed`, `too_many_waiting` and
 * `token_unavailable`.
 */
export class ClientError extends Error {
  /**
   * @param {{ code: string, message?: string, retryable?: boolean }} error
   * @param {{ cause?: unknown }} [options]
   */
  constructor ({ code, message = code, retryable = false }, options) {
    super(message, options)
    this.name = 'ClientError'
    /** Programs go by this. */
    this.code = code
    /** Whether the same may succeed later, unchanged. */
    this.retryable = retryable
  }
}
