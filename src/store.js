import { runRole } from './operate/roles/role.js'
import { composeStore } from './operate/roles/store.js'

await runRole('store', composeStore)
