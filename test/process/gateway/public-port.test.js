import http from 'node:http'
import { test } from 'node:test'
import { createPublicPort, createSlotPort } from '../../../src/gateway/public-port.js'
import { waitFor } from '../../helpers/wait.js'

test('a port that was never opened is released at once', async () => {
  for (const door of [createPublicPort({ host: '127.0.0.1', port: 0 }), createSlotPort({ port: 0 })]) {
    let ended = false
    await door.leave(http.createServer(), () => { ended = true })
    await waitFor(() => ended, { timeout: 1000, message: 'the end' })
  }
})
