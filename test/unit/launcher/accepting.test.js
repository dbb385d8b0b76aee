import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseAccepting } from '../../../src/operate/launcher/accepting.js'

class FakeWorker {
  accepting = true
  listens = true
  moves = 0

  /** @param {boolean} accepting */
  accept (accepting) {
    if (accepting === this.accepting) return
    this.accepting = accepting
    this.listens = false
  }

  resumed () { this.listens = this.accepting }
}

/** @param {FakeWorker[]} workers */
const accepting = (workers) => workers.map((worker) => worker.accepting)

test('a worker whose clients are being moved accepts none, unless all of them are', () => {
  const workers = [new FakeWorker(), new FakeWorker(), new FakeWorker()]
  workers[0].moves = 1
  chooseAccepting(workers)
  assert.deepEqual(accepting(workers), [false, true, true])
  for (const worker of workers) worker.moves = 1
  chooseAccepting(workers)
  assert.deepEqual(accepting(workers), [true, true, true])
})

test('during a reload only the newest worker accepts, if it serves', () => {
  const [one, two, newest] = [new FakeWorker(), new FakeWorker(), new FakeWorker()]
  chooseAccepting([one, two, newest], newest)
  assert.deepEqual(accepting([one, two, newest]), [false, false, true])
  chooseAccepting([one, two], newest)
  assert.deepEqual(accepting([one, two]), [true, true])
})

test('a worker pauses only when another one listens: two moves right after each other refuse no client', () => {
  const workers = [new FakeWorker(), new FakeWorker()]
  const [one, two] = workers
  one.moves = 1
  chooseAccepting(workers)
  assert.deepEqual(accepting(workers), [false, true])
  one.moves = 0
  two.moves = 1
  chooseAccepting(workers)
  assert.deepEqual(accepting(workers), [true, true], 'the first worker does not listen yet')
  one.resumed()
  chooseAccepting(workers)
  assert.deepEqual(accepting(workers), [true, false])
})
