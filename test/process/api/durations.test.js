import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'
import { grpcClient } from '../../helpers/grpc.js'
import { waitFor } from '../../helpers/wait.js'

test('requests are measured by operation, caller and protocol; an unknown caller is never a label', async (t) => {
  const token = '0123456789abcdef'
  const { apiUrl, grpcPort, metrics } = await startEmbedded(t, { GRPC_PORT: '0', API_TOKENS: `editor:${token}` })
  const get = (/** @type {string} */ path, /** @type {string} */ bearer) =>
    fetch(apiUrl + path, { headers: { authorization: `Bearer ${bearer}` } })
  assert.equal((await get('/v1/documents/minutes/presence', token)).status, 200)
  assert.equal((await get('/v1/documents/minutes/presence', token)).status, 200)
  assert.equal((await get('/v1/documents/minutes/presence', 'somebody-else-12')).status, 401)
  assert.equal((await get('/v1/nothing', token)).status, 404)
  const { call } = grpcClient(t, grpcPort(), token)
  assert.equal((await call('Documents')).code, undefined)
  assert.equal((await grpcClient(t, grpcPort(), 'somebody-else-12').call('Documents')).code, 16)
  const counted = async () => Object.fromEntries((await metrics.api_request_seconds.get()).values
    .filter(({ metricName }) => metricName?.endsWith('_count'))
    .map(({ labels: { operation, caller, protocol }, value }) => [`${operation} ${caller} ${protocol}`, value]))
  const expected = {
    'presence editor http': 2,
    'presence unknown http': 1,
    'unknown unknown http': 1,
    'documents editor grpc': 1,
    'documents unknown grpc': 1
  }
  await waitFor(async () => Object.keys(await counted()).length >= 5, { message: counted })
  assert.deepEqual(await counted(), expected)
  const { values } = await metrics.api_request_seconds.get()
  const sum = values.find(({ metricName, labels }) => metricName?.endsWith('_sum') && labels.protocol === 'http')?.value
  assert.ok(Number(sum) > 0 && Number(sum) < 20, `${sum} s`)
})
