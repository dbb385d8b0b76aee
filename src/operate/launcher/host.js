import cluster from 'node:cluster'
import { fork } from 'node:child_process'
import { systemLook } from './hang-watch.js'

/**
 * The path, not the folder: after an upgrade another folder has it, with the code and the `.env` that processes started
 * from then on use.
 */
const FOLDER = process.cwd()

/** @type {import('./places.js').LauncherHost} */
export const launcherHost = {
  ...systemLook,
  fork ({ file, clustered, env, execArgv }) {
    if (!clustered) return fork(file, [], { env, execArgv, cwd: FOLDER })
    cluster.setupPrimary({ exec: file, execArgv, args: [], cwd: FOLDER })
    return cluster.fork(env).process
  }
}
