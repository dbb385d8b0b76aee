import { systemClock } from '../common/clock.js'
import { systemRandom } from '../common/random.js'
import { action } from './common/terminal.js'
import { settingsSource } from './common/settings.js'
import { endWithNpm } from '../process/npm-parent.js'

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

/** @param {import('./common/settings.js').GlobalOptions} options */
async function start (options) {
  const { checkFiles } = await import('../config/files.js')
  const { loadConfig } = await import('../config/load.js')
  const { checkLibraries } = await import('../common/library-versions.js')
  const source = settingsSource(options)
  const config = loadConfig(source)
  checkFiles(config)
  checkLibraries(config)
  endWithNpm()
  // load only what the mode needs: embedded mode starts without the Redis and Kafka clients
  if (config.mode === 'embedded') {
    const [{ runRole }, { composeEmbedded }] = await Promise.all([import('../role.js'), import('../embedded.js')])
    await runRole('embedded', composeEmbedded, { configFile: source.file })
  } else {
    const { launch } = await import('../launcher/launcher.js')
    await launch(config, { configFile: source.file, clock: systemClock, random: systemRandom })
  }
}
