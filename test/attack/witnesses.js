import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('witness-process.js', import.meta.url))

/**
 * Starts the process of the well-behaved clients.
 * @param {{ after: (stop: () => unknown) => void }} scope
 */
export function startWitnesses (scope) {
  const child = fork(PROGRAM, { serialization: 'advanced' })
  scope.after(() => child.kill('SIGKILL'))
  return {
    /** @param {string} command @param {object} [options] @returns {Promise<any>} */
    async ask (command, options) {
      child.send({ command, options })
      const [{ result, error }] = await Promise.race([
        once(child, 'message'),
        once(child, 'exit').then(() => {
          throw new Error('the witnesses\' process ended')
        })
      ])
      if (error !== undefined) throw new Error(error)
      return result
    },
    stop: () => child.kill('SIGKILL')
  }
}
