import { setTimeout as delay } from 'node:timers/promises'

/**
 * Timeouts are upper bounds for a quiet machine; a busy one gets them multiplied by this.
 */
const PATIENCE = 3
/** Pause between two looks, ms. */
const PAUSE = 5
/**
 * A condition that takes long to look at (a page, another process) is looked at less often, so that the look takes a
 * small part of the time of what is waited for: the pause is this multiple of it,
 */
const SHARE = 10
/** and at most this, ms. */
const MAX_PAUSE = 100

/**
 * Waits until a condition holds.
 *
 * @template T
 * @param {() => T | Promise<T>} condition holds when it returns a truthy value
 * @param {object} [options]
 * @param {number} [options.timeout] ms on a quiet machine, default 5,000
 * @param {string | (() => unknown)} [options.message] condition in words, or a function that describes the state, or
 *   promises to; shown in the error
 * @returns {Promise<T>} what the condition returned
 * @throws {Error} after the timeout, with the last value seen or the last error
 */
export async function waitFor (condition, { timeout = 5000, message = 'the condition' } = {}) {
  const deadline = performance.now() + timeout * PATIENCE
  /** @type {unknown} */
  let last
  for (;;) {
    const begin = performance.now()
    try {
      const value = await condition()
      if (value) return value
      last = value
    } catch (error) {
      last = error
    }
    const now = performance.now()
    if (now >= deadline) {
      const told = typeof message === 'function' ? show(await message()) : message
      throw new Error(`waited ${timeout * PATIENCE} ms for: ${told}; last seen: ${show(last)}`, { cause: last })
    }
    await delay(Math.min(MAX_PAUSE, Math.max(PAUSE, SHARE * (now - begin))))
  }
}

/** @param {unknown} value */
function show (value) {
  if (typeof value === 'string') return value
  if (value instanceof Error) return value.message
  return JSON.stringify(value) ?? String(value)
}
