import { h } from './dom.js'

/** Explains the effect of each button, and why buttons are missing. */

/** @type {Record<string, string>} */
export const WHY_NOT = {
  embedded:
    'inkcast runs as one process now, so there is no second worker to take over. Without WORKERS=1, npm start runs several, and buttons ' +
    'here kill one, roll a deploy, freeze the store and cut its subscriptions',
  elsewhere:
    'On the machine that runs inkcast, at localhost, this section can kill a worker, roll a deploy, freeze Redis, bring in a crowd of ' +
    '1,000 and show the hops of each record. In a container each page counts as one of another machine: run npm start in a checkout.',
  no_launcher:
    'Workers of another process manager are not broken from here. Start them with npm start to kill one, roll a deploy and freeze Redis.'
}

export const howFaults = () => h(
  'details', { class: 'how' },
  h('summary', {}, 'How this is done'),
  h(
    'ul', {},
    h('li', {}, h('strong', {}, 'Kill a worker'), ': SIGKILL to the gateway process that this page is connected to. Clients reconnect ' +
    'to another worker with their position and get what they missed from the log. The launcher starts a new process.'),
    h('li', {}, h('strong', {}, 'Roll a deploy'), ': what SIGHUP does. New processes start one by one, and the old ones hand over their ' +
    'clients.'),
    h('li', {}, h('strong', {}, 'Freeze Redis'), ': CLIENT PAUSE for 3 s, for every program that uses this Redis (or the built-in store ' +
    'in its place). It goes on by itself.'),
    h('li', {}, h('strong', {}, 'Cut pub/sub'), ': CLIENT KILL TYPE pubsub. Redis forgets what it published meanwhile; each worker ' +
    'subscribes again, sees the gap in the numbers, and reads the missing records from the log.'),
    h('li', {}, h('strong', {}, 'Lost'), ': a record that the api has acknowledged, and that this page does not have after 15 s. ' +
    'Publishers repeat what was not acknowledged, with the same idempotency key.')
  ),
  h(
    'p', { class: 'links' }, h('a', { href: '/docs/demo.html#break-it' }, 'Break it'), ' ',
    h('a', { href: '/docs/operations.html' }, 'Operations')
  )
)
