/** An incarnation that no worker has. */
const PROBE = '999999999.1'

/**
 * Whether a worker holds a user, a user in a document, or a document: a holder is asked to tell the services that it is
 * held only if nobody else holds it. Leaves nothing behind. For stores with services, while nothing is being told.
 *
 * @param {import('../../src/sessions/contract.js').SessionStore} store
 * @param {{ uid?: string, guid?: string }} what
 */
export async function isHeld (store, what) {
  const [answer] = await store.hold(PROBE, [{ ...what, op: '+', told: '' }])
  await store.hold(PROBE, [{ ...what, op: '-', told: answer === '' ? '' : '0' }])
  return answer === ''
}
