import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Silence } from '../../../src/operate/launcher/silence.js'

/** @param {string} state @param {number} cpuMs @param {number} [queuedMs] of two seconds */
function causeOf (state, cpuMs, queuedMs = 0) {
  const silence = new Silence({ state: 'S', cpuMs: 1000, queuedMs: 500 })
  silence.add(2000, { state, cpuMs: 1000 + cpuMs, queuedMs: 500 + queuedMs })
  return silence.cause
}

test('the cause of a silence is what the process did meanwhile', () => {
  assert.match(causeOf('T', 0), /stopped by a signal/)
  assert.match(causeOf('D', 0), /waits for a disk/)
  assert.match(causeOf('S', 10), /blocked in a system call/)
  assert.match(causeOf('S', 1500), /computes without a pause/)
  assert.match(causeOf('S', 300, 1500), /computes without a pause/)
})

test('a process that runs computes, however little time a busy host left it', () => {
  assert.match(causeOf('R', 250, 1400), /computes without a pause/)
})
