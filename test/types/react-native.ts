/** Types of inkcast-client/react-native, checked by `npm run lint:types`: a line under `@ts-expect-error` must be an error. */
import AsyncStorage from '@react-native-async-storage/async-storage'
import NetInfo from '@react-native-community/netinfo'
import { asyncStorageStore, connect } from 'inkcast-client/react-native'
import { AppState } from 'react-native'

const client = connect('http://localhost:3000', { token: async () => 'jwt', outbox: { user: 'ada' } }, { AppState, NetInfo, AsyncStorage })
client.on('state', (state) => console.log(state))
connect('http://localhost:3000', {}, { AppState, NetInfo: undefined })
connect('http://localhost:3000', { outbox: { user: 'ada', store: asyncStorageStore(AsyncStorage) } }, {})
// @ts-expect-error the modules are missing
connect('http://localhost:3000', {})
// @ts-expect-error not AppState
connect('http://localhost:3000', {}, { AppState: NetInfo })
