import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { HEALTH_PROTO } from '../../../src/services/api/grpc/health.js'
import { reflectionEndpoints } from '../../../src/services/api/grpc/reflection.js'
import { PROTO } from '../../../src/services/api/grpc/rpcs.js'
import { startGrpcApi } from '../../helpers/grpc-api.js'

const TOKEN = '0123456789abcdef'
const VERSIONS = reflectionEndpoints([])
const method = /** @type {any} */ (VERSIONS[0][1].method)

/**
 * @param {import('node:test').TestContext} t
 * @param {number} port
 * @param {string} path
 * @param {object[]} questions
 * @returns {Promise<any[]>} answers
 */
async function ask (t, port, path, questions) {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  t.after(() => client.close())
  const metadata = new Metadata()
  metadata.set('authorization', `Bearer ${TOKEN}`)
  const call = client.makeBidiStreamRequest(path, method.requestSerialize, method.responseDeserialize, metadata)
  for (const question of questions) call.write(question)
  call.end()
  return call.toArray()
}

for (const [path] of VERSIONS) {
  test(`a stock client finds all services, and the names of the proto files: ${path}`, async (t) => {
    const { port } = await startGrpcApi(t, { tokens: [`editor:${TOKEN}`] })
    const [list] = await ask(t, port, path, [{ listServices: '*' }])
    const services = list.listServicesResponse.service.map((/** @type {any} */ { name }) => name)
    assert.deepEqual(services, ['inkcast.v1.Gateway', 'grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection'])
    for (const [symbol, proto] of [['inkcast.v1.Gateway', PROTO], ['grpc.health.v1.Health.Check', HEALTH_PROTO]]) {
      const [{ fileDescriptorResponse }] = await ask(t, port, path, [{ fileContainingSymbol: symbol }])
      const [file] = fileDescriptorResponse.fileDescriptorProto
      const names = readFileSync(proto, 'utf8').matchAll(/^ +(?:optional |repeated )?[\w.]+ (\w+) = \d+;/gm)
      let count = 0
      for (const [, name] of names) {
        count++
        assert.ok(file.includes(name), name)
      }
      assert.ok(count > 1)
      assert.equal(file.includes('traceId'), false)
      const name = file.subarray(2, 2 + file[1]).toString()
      const [again] = await ask(t, port, path, [{ fileByFilename: name }])
      assert.deepEqual(again.fileDescriptorResponse, fileDescriptorResponse)
    }
  })

  test(`questions without an answer get an error, one after the other: ${path}`, async (t) => {
    const { port } = await startGrpcApi(t, { tokens: [`editor:${TOKEN}`] })
    const questions = [
      {}, { fileByFilename: 'x' }, { fileContainingSymbol: '' }, { fileContainingSymbol: 'inkcast.v1.Nothing' },
      { fileContainingSymbol: '__proto__' }, { allExtensionNumbersOfType: 'x' },
      { fileContainingExtension: { containingType: 'x', extensionNumber: 1 } }
    ]
    const answers = await ask(t, port, path, questions)
    assert.deepEqual(answers.map(({ errorResponse }) => errorResponse.errorCode), questions.map(() => 5))
  })
}

test('no proto that reflection shows has a map: its description would not be valid', () => {
  for (const path of [PROTO, HEALTH_PROTO]) assert.doesNotMatch(readFileSync(path, 'utf8'), /\bmap</)
})
