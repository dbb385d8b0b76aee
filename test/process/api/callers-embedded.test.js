import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { io } from 'socket.io-client'
import { callersFile } from '../../helpers/callers-file.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { signToken } from '../../helpers/tokens.js'

const path = (/** @type {string} */ name) => fileURLToPath(new URL(`../../helpers/tls/${name}`, import.meta.url))
const CALLER = { name: 'editor', tokens: [{ text: '0123456789abcdef' }], operators: ['broadcast'], guids: ['notes'] }

test('the settings reach the api: callers with rights, and clients with certificates', async (t) => {
  const file = callersFile(t, { callers: [{ ...CALLER, certificates: [{ subject: { CN: 'editor' } }] }] })
  const plain = await startEmbedded(t, { API_CALLERS_FILE: file.path })
  const authorization = 'Bearer 0123456789abcdef'
  for (const [guid, headers, expected] of /** @type {[string, Record<string, string>, number][]} */ ([
    ['notes', { authorization }, 202], ['minutes', { authorization }, 403], ['notes', {}, 401]
  ])) assert.equal((await plain.post(`/v1/documents/${guid}/broadcast`, 1, headers)).status, expected)

  const tls = await startEmbedded(t, {
    API_CALLERS_FILE: file.path,
    API_TLS_FILES: `cert:${path('cert.pem')},key:${path('key.pem')},ca:${path('clients/ca.pem')}`
  })
  const status = await new Promise((resolve, reject) => {
    request(`${tls.apiUrl.replace('http:', 'https:')}/v1/documents/notes/broadcast`, {
      method: 'POST',
      agent: false,
      ca: readFileSync(path('cert.pem')),
      cert: readFileSync(path('clients/editor.pem')),
      key: readFileSync(path('clients/editor-key.pem')),
      headers: { 'content-type': 'application/json' }
    }, (response) => resolve(response.resume().statusCode)).on('error', reject).end('1')
  })
  assert.equal(status, 202)
})

test('a wrong file stops the start', async (t) => {
  const file = callersFile(t, { callers: [{ ...CALLER, guid: 'notes' }] })
  await assert.rejects(startEmbedded(t, { API_CALLERS_FILE: file.path }), {
    message: `API_CALLERS_FILE=${file.path}: caller "editor": has an unknown field "guid"`
  })
})

test('a client whose token is meant for others is not admitted', async (t) => {
  const { url } = await startEmbedded(t, {
    AUTH_JWT_SECRET: 's'.repeat(32), AUTH_JWT_ISSUER: 'https://id.example', AUTH_JWT_AUDIENCE: 'inkcast'
  })
  const connect = async (/** @type {object} */ claims) => {
    const token = await signToken({ sub: 'ada', ...claims }, { key: 's'.repeat(32) })
    const socket = io(url, { auth: { token }, transports: ['websocket'], reconnection: false })
    t.after(() => socket.close())
    return await new Promise((resolve) => {
      socket.on('connect', () => resolve('connected'))
      socket.on('connect_error', (error) => resolve(/** @type {any} */ (error).data?.code ?? error.message))
    })
  }
  assert.equal(await connect({ iss: 'https://id.example', aud: ['inkcast'] }), 'connected')
  assert.equal(await connect({ iss: 'https://id.example', aud: 'shop' }), 'unauthorized')
  assert.equal(await connect({ iss: 'https://other.example', aud: 'inkcast' }), 'unauthorized')
})
