import { systemClock } from '../../base/common/clock.js'
import { systemRandom } from '../../base/common/random.js'
import { folderOf } from '../../base/process/installed.js'
import { action, CommandError } from './common/terminal.js'
import { settingsSource } from './common/settings.js'
import { endWithNpm } from './npm-parent.js'

/** @param {import('commander').Command} program */
export function addStart (program) {
  program
    .command('start')
    .description('start everything that this machine needs (the default command)')
    .addHelpText('after', `
Examples:
  inkcast start
  WORKERS=4 REDIS_URL=redis://localhost inkcast start
  inkcast start --config production.env`)
    .action(action((_, command) => start(command.optsWithGlobals())))
}

/** @param {import('commander').Command} program */
export function addDemo (program) {
  program
    .command('demo')
    .description('start everything and the demo page, to try inkcast out')
    .addHelpText('after', `
The same as inkcast start in development: open the printed address, type, and press the buttons that break it.
It needs no other service.

Examples:
  inkcast demo
  PORT=4000 inkcast demo`)
    .action(action((_, command) => start(command.optsWithGlobals(), { demo: true })))
}

/** `inkcast` without an argument. */
export const startAlone = action(() => start({}))

/**
 * @param {import('./common/settings.js').GlobalOptions} options
 * @param {{ demo?: boolean }} [wanted]
 */
async function start (options, { demo = false } = {}) {
  const { checkFiles } = await import('../../config/files.js')
  const { loadConfig } = await import('../../config/load.js')
  const { checkLibraries } = await import('../../config/library-versions.js')
  const source = settingsSource(options)
  const config = loadConfig(source)
  if (demo && config.production)
    throw new CommandError('the demo is for development, and NODE_ENV is production: unset it')
  if (demo && folderOf('inkcast-demo') === undefined)
    throw new CommandError('the package inkcast-demo is not installed: npm install inkcast-demo')
  checkFiles(config)
  checkLibraries(config)
  endWithNpm(systemClock)
  if (config.mode === 'embedded') {
    const [{ runRole }, { composeEmbedded }] = await Promise.all([import('../roles/role.js'), import('../roles/embedded.js')])
    await runRole('embedded', composeEmbedded, { configFile: source.file })
  } else {
    const { launch } = await import('../launcher/launcher.js')
    await launch(config, { configFile: source.file, clock: systemClock, random: systemRandom })
  }
}
