import { runRole } from './role.js'
import { composeStore } from './roles/store.js'

await runRole('store', composeStore)
