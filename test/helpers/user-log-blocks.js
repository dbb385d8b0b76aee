import assert from 'node:assert/strict'
import { runBlock } from './code-blocks.js'
import { waitFor } from './wait.js'

/**
 * Scenarios of the pages' code blocks about the log of a user.
 * @param {object} dependencies
 * @param {any} dependencies.server embedded
 * @param {(specifier: string) => Promise<object>} dependencies.load
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export function userLogScenarios ({ server, load }) {
  /** @param {any} socket @param {unknown} value */
  async function notify (socket, value) {
    const { uid } = server.gateway.io.sockets.sockets.get(socket.id).data
    const answer = await server.post(`/v1/users/${encodeURIComponent(uid)}/send`, value, {
      'x-keep': 'true',
      'x-event': 'note'
    })
    assert.equal(answer.status, 202)
  }

  return {
    'docs/client.md: client.user.on(': async (code, t) => {
      /** @type {unknown[]} */
      const shown = []
      const { client } = await runBlock(
        code,
        {
          fetchToken: () => undefined,
          show: (/** @type {unknown} */ payload) => { shown.push(payload) },
          reloadNotifications: () => {},
          sessionStorage: undefined
        },
        load
      )
      t.after(() => client.close())
      await client.ready
      await notify(client.socket, 'two comments')
      await waitFor(() => shown.length === 1)
      assert.deepEqual(shown, ['two comments'])
    },

    'docs/protocol-details.md: let user = {}': async (code, t) => {
      const { socket, position } = await runBlock(`${code}\nconst position = () => user`, {}, load)
      t.after(() => socket.disconnect())
      await new Promise((resolve) => { socket.once('gateway:user', resolve) })
      await notify(socket, 'two comments')
      await waitFor(() => position().offset === 1, { message: position })
    }
  }
}
