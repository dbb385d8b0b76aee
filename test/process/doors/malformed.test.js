import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { fileScope } from '../../helpers/file-scope.js'
import { startListeners } from '../../helpers/listeners.js'
import { malformedRequests, sendAll } from '../../helpers/malformed.js'
import { recordingLog } from '../../helpers/recording-log.js'

const REQUESTS = malformedRequests(2000)
const { log, lines } = recordingLog()
const { http, others } = await startListeners(fileScope(), log)

describe('2,000 malformed requests', () => {
  for (const [name, address] of Object.entries({ ...http, ...others })) {
    test(`are each answered or closed by ${name}, which goes on`, async (t) => {
      const before = lines.length
      const answers = await sendAll(address, REQUESTS)
      t.diagnostic(JSON.stringify(answers))
      assert.deepEqual(lines.slice(before).filter(({ level }) => level === 'error' || level === 'fatal'), [])
      if (Object.hasOwn(others, name)) return
      assert.equal(answers.other, undefined, 'no answer that is not HTTP')
      assert.ok(answers[400] > 500, 'what is no HTTP is 400')
      const alive = connect(/** @type {any} */ (address)).setEncoding('latin1')
      alive.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      let text = ''
      for await (const chunk of alive) text += chunk
      assert.match(text, /^HTTP\/1\.1 \d{3} /)
    })
  }
})
