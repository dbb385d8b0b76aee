import cluster from 'node:cluster'
import { fork } from 'node:child_process'
import { systemLook } from './hang-watch.js'

/** @type {import('./places.js').LauncherHost} */
export const launcherHost = {
  ...systemLook,
  fork ({ file, clustered, env, execArgv }) {
    if (!clustered) return fork(file, [], { env, execArgv })
    cluster.setupPrimary({ exec: file, execArgv, args: [] })
    return cluster.fork(env).process
  }
}
