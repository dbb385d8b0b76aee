/**
 * Shared by all parts of a process. A factory or class that would have more than eight parameters takes the ones it
 * needs of these as its first argument, and its own as its second.
 *
 * @typedef {object} Services
 * @property {import('../base/common/log.js').Log} log
 * @property {import('./metrics/metrics.js').Metrics} metrics
 * @property {import('../base/common/clock.js').Clock} clock that of the whole process
 * @property {import('../base/common/random.js').Random} random that of the whole process
 */

export {}
