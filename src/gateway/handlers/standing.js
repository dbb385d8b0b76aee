import { InkcastError } from '../../base/common/errors.js'

/**
 * To be called before a client uses a right. A worker that may have missed kicks, revokes and closes, because it cannot
 * reach Redis, does not know the rights of its clients any more.
 * @param {{ mayAct: () => boolean }} context
 * @throws {InkcastError} unavailable, retryable
 */
export function assertMayAct ({ mayAct }) {
  if (!mayAct()) throw new InkcastError('unavailable', 'this worker is cut off from Redis')
}
