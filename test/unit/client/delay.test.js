import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delayBefore, hintOf } from '../../../client/connection/delay.js'

const many = (/** @type {() => number | undefined} */ make) =>
  Array.from({ length: 1000 }, make).map(Number)
    .sort((a, b) => a - b)

test('pauses are spread over a range that doubles up to 15 s', () => {
  for (const [failures, longest] of [
    [0, 1000],
    [1, 2000],
    [2, 4000],
    [3, 8000],
    [4, 15_000],
    [5, 15_000],
    [1e6, 15_000]
  ]) {
    const delays = many(() => delayBefore(failures))
    assert.ok(delays[0] >= longest / 10 && delays[999] <= longest, `${failures}: ${delays[0]} to ${delays[999]}`)
    assert.ok(delays[999] - delays[0] > longest / 2, 'spread')
  }
})

test('the gateway\'s delay takes precedence', () => {
  assert.equal(delayBefore(7, 20), 20)
  assert.equal(delayBefore(7, 0), 0)
})

test('a hint is in the refusal, or in the response to a request, spread within its second', () => {
  assert.equal(hintOf(Object.assign(new Error(), { data: { retryInMs: 1234 } })), 1234)
  const answered = (/** @type {string | null} */ header) =>
    hintOf({ context: { status: 503, getResponseHeader: () => header } })
  const hints = many(() => answered('3'))
  assert.ok(hints[0] >= 3000 && hints[999] <= 4000 && hints[999] - hints[0] > 500)
  assert.equal(answered(null), undefined)
  assert.equal(answered('soon'), undefined)
  assert.equal(hintOf(new Error('websocket error')), undefined)
  assert.equal(
    hintOf({
      context: {
        status: 400,
        getResponseHeader () {
          assert.fail('a browser would complain')
        }
      }
    }),
    undefined
  )
})
