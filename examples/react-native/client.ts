import AsyncStorage from '@react-native-async-storage/async-storage'
import NetInfo from '@react-native-community/netinfo'
import { connect } from 'inkcast-client/react-native'
import { AppState } from 'react-native'

/** For a phone, the address of your computer in its network, such as http://192.168.0.7:3000. */
const url = process.env.EXPO_PUBLIC_GATEWAY ?? 'http://localhost:3000'

export const client = connect(url, { outbox: { user: 'ada' } }, { AppState, NetInfo, AsyncStorage })
