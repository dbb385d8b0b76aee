import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ERRORS } from '../../../src/base/common/errors.js'
import { openDoc, scriptedClient } from '../../helpers/scripted-socket.js'

test('the types of the client name every code of the gateway', () => {
  const source = readFileSync(new URL('../../../client/common/error.js', import.meta.url), 'utf8')
  const gateway = [...source.matchAll(/@typedef \{(.*)\} (?!OwnCode|LocalCode)\w+/g)].map(([, union]) => union).join()
  assert.deepEqual([...gateway.matchAll(/'(\w+)'/g)].map(([, code]) => code).sort(), Object.keys(ERRORS).sort())
})

test('the error of a document that a service closed has the code and the reason of the service', async (t) => {
  for (const [told, expected] of /** @type {const} */ ([
    [{ code: 'moved', reason: 'It is elsewhere' }, { serviceCode: 'moved', message: 'It is elsewhere' }],
    [{ code: 'removed' }, { serviceCode: 'removed', message: 'the service closed it' }]
  ])) {
    const scripted = scriptedClient(t)
    const doc = await openDoc(scripted, { epoch: 'e', offset: 5 })
    /** @type {any} */
    let error
    doc.on('closed', (closed) => { error = closed })
    scripted.socket.tells('doc:closed', { guid: 'doc', ...told })
    const { code, serviceCode, message } = error
    assert.deepEqual({ code, serviceCode, message }, { code: 'not_joined', ...expected })
  }
})

test('the error of a refused request has the time after which the gateway accepts it', async (t) => {
  const scripted = scriptedClient(t)
  const doc = await openDoc(scripted, { epoch: 'e', offset: 5 })
  const sent = doc.send('x')
  scripted.socket.last('doc:send').answer({
    ok: false, error: { code: 'rate_limited', message: 'too many', retryable: true, retryInMs: 250 }
  })
  await assert.rejects(sent, { code: 'rate_limited', retryable: true, retryInMs: 250 })
})
