import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { describe, test } from 'node:test'
import { connect } from '../../../client/index.js'
import { random } from '../../../client/common/random.js'
import { clientTime } from '../../helpers/client-time.js'
import { settle } from '../../helpers/scripted-socket.js'
import { TabLocks, replaceTabChannels } from '../../helpers/tab-channels.js'
import { waitFor } from '../../helpers/wait.js'

describe('tabs that share a connection', () => {
  replaceTabChannels(new TabLocks())

  test('fall back to long polling where WebSocket fails', async (t) => {
    t.mock.method(random, 'number', () => 1)
    const time = clientTime(t)
    /** @type {string[]} */
    const tried = []
    const server = http.createServer((_, res) => {
      tried.push('polling')
      res.writeHead(502).end()
    })
    // as a proxy that forwards no WebSocket
    server.on('upgrade', (_, socket) => {
      tried.push('websocket')
      socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
    const client = connect(`http://127.0.0.1:${port}`, { shared: 'ada' })
    t.after(() => client.close())
    for (const transport of ['websocket', 'polling', 'websocket', 'polling']) {
      const next = tried.length
      await waitFor(() => {
        // the pauses of the tab and of its leader
        time.advance(100)
        return tried[next]
      }, { message: () => tried })
      assert.equal(tried[next], transport, `${tried}`)
      await settle()
    }
  })
})
