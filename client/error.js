/**
 * The error of every rejected promise of the client, and of `client.reason`. Most codes are the gateway's
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
    /** Stable, for programs. */
    this.code = code
    /** Whether the same request may succeed later, unchanged. */
    this.retryable = retryable
  }
}
