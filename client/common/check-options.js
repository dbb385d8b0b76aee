/** @type {any} */
const { location, process: { env: { NODE_ENV: nodeEnv = '' } = {} } = {} } = globalThis

/** In development: pages of this machine, and Node unless NODE_ENV says otherwise. */
const isDevelopment = location
  ? /^(localhost|127\..*|\[::1\])?$/.test(location.hostname)
  : nodeEnv !== 'production'

/**
 * Warns a developer about misspelled options, which plain JavaScript would ignore.
 * @param {import('./known-options.js').Call} call
 * @param {object | undefined} options
 */
export function checkOptions (call, options) {
  if (isDevelopment && options) import('./known-options.js').then((known) => known.warnOfUnknown(call, options), () => {})
}
