#!/bin/sh
# Makes the client certificates of the tests again: sh test/helpers/tls/clients/make.sh
set -eu
cd "$(dirname "$0")"
key () { openssl ecparam -name prime256v1 -genkey -noout -out "$1-key.pem"; }
authority () { # name
  key "$1"
  openssl req -x509 -new -key "$1-key.pem" -subj "/CN=$1" -days 36500 -out "$1.pem" \
    -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign
}
client () { # name, authority, subject, alternative name, days
  key "$1"
  openssl req -new -key "$1-key.pem" -subj "$3" -out request.pem
  printf 'extendedKeyUsage=clientAuth\n%s\n' "${4:+subjectAltName=$4}" > extensions
  openssl x509 -req -in request.pem -CA "$2.pem" -CAkey "$2-key.pem" -CAcreateserial -days "$5" \
    -extfile extensions -out "$1.pem"
  rm request.pem extensions "$2.srl"
}
authority ca
authority other-ca
client editor ca '/O=Example/CN=editor' '' 36500
client workload ca '/CN=anything' 'URI:spiffe://example.org/ns/docs/sa/billing,DNS:billing.example.org' 36500
client unnamed ca '/O=Example/CN=unnamed' '' 36500
client stranger other-ca '/O=Example/CN=editor' '' 36500
client expired ca '/O=Example/CN=editor' '' -1
rm ca-key.pem other-ca-key.pem other-ca.pem
