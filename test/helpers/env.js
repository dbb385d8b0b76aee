/**
 * Addresses of the services for tests: from the environment that `npm test` passes on, else from `npm run services
 * start`.
 */
import { runningServices, VARIABLES } from '../services/state.js'

/** @returns {string} redis://host:port. @throws {Error} when there is none, with instructions */
export const redisUrl = () => urlOf('redis')

/**
 * @returns {string} the URLs of a Redis Cluster's nodes, comma separated.
 * @throws {Error} when there is none, with instructions
 */
export const redisClusterUrl = () => urlOf('cluster')

/** @returns {string} host:port, comma separated. @throws {Error} when there is none, with instructions */
export const kafkaBrokers = () => urlOf('kafka')

/**
 * @returns {string} for produceWithJava; empty where Java is not available (services in Docker), and then the test has
 *   to skip
 * @throws {Error} when there are no services, with instructions
 */
export const kafkaClasspath = () =>
  process.env.KAFKA_CLASSPATH ?? runningServices().kafka?.classpath ?? missing('KAFKA_CLASSPATH')

/** @param {import('../services/state.js').ServiceName} name */
function urlOf (name) {
  return process.env[VARIABLES[name]] || runningServices()[name]?.url || missing(VARIABLES[name])
}

/**
 * @param {string} variable
 * @returns {never}
 */
function missing (variable) {
  throw new Error(
    `${variable} is not set and no services are running: run "npm test" or "npm run services start" first`
  )
}
