//! TLS 1.3 with the settings of a run. Both ends show the key of the run as a raw public key (RFC 7250) and
//! accept no other key; no session is resumed. The key is derived from the run's secret, so an invitation
//! holds 32 bytes and some addresses, and no certificate is parsed.

use crate::keys::RunKeys;
use crate::tls::Tls;
use ligament_catalogue::said;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption, UnbufferedClientConnection};
use rustls::crypto::{ring as provider, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage, UnbufferedServerConnection};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme, SupportedCipherSuite,
};
use std::io;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The bytes before the seed of an Ed25519 key in PKCS #8 (RFC 8410, section 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// Makes both sides of encrypted streams.
pub(crate) struct Security {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Security {
    pub fn new(keys: &RunKeys) -> Security {
        let suites = vec![
            provider::cipher_suite::TLS13_AES_128_GCM_SHA256,
            provider::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ];
        Security::build(keys, suites).expect("the library knows TLS 1.3 and Ed25519")
    }

    fn build(keys: &RunKeys, cipher_suites: Vec<SupportedCipherSuite>) -> Result<Security, Error> {
        let provider = Arc::new(CryptoProvider {
            cipher_suites,
            kx_groups: vec![provider::kx_group::X25519],
            ..provider::default_provider()
        });
        let secret = Zeroizing::new([&PKCS8[..], &keys.identity()[..]].concat());
        let key = provider::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(&secret[..]))?;
        let public =
            key.public_key().ok_or(Error::General(said!(ENCRYPTION_FAILED, "a key has a public half")))?;
        let shown = CertificateDer::from(public.to_vec());
        let pinned = Arc::new(PinnedKey { key: shown.clone().into_owned(), provider: Arc::clone(&provider) });
        let identity = Arc::new(CertifiedKey::new(vec![shown.into_owned()], key));
        let versions = &[&rustls::version::TLS13];
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&pinned) as _)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&identity))));
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        client.enable_secret_extraction = true;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)?
            .with_client_cert_verifier(pinned)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity)));
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        server.enable_secret_extraction = true;
        Ok(Security { client: Arc::new(client), server: Arc::new(server) })
    }

    /// Makes the dialling end of an encrypted stream.
    pub fn dialler(&self) -> io::Result<Tls> {
        // An end has no name; the key identifies the end.
        let name = ServerName::try_from("ligament").expect("a name");
        let connection = UnbufferedClientConnection::new(Arc::clone(&self.client), name);
        Tls::dialler(connection.map_err(io::Error::other)?)
    }

    /// Makes the listening end of an encrypted stream.
    pub fn listener(&self) -> io::Result<Tls> {
        let connection = UnbufferedServerConnection::new(Arc::clone(&self.server));
        Tls::listener(connection.map_err(io::Error::other)?)
    }
}

/// A verifier that accepts one key and no other.
#[derive(Debug)]
struct PinnedKey {
    key: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl PinnedKey {
    fn check(&self, shown: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> Result<(), Error> {
        if *shown == self.key && others.is_empty() {
            Ok(())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, signature, known)
    }
}

fn no_tls12() -> Error {
    Error::General(said!(ENCRYPTION_FAILED, "TLS 1.2 is not spoken"))
}

impl ServerCertVerifier for PinnedKey {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown, others).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for PinnedKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown, others).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{ClientConnection, Connection, ServerConnection};
    use std::io::{IoSlice, IoSliceMut, Read, Write};

    /// Passes bytes between two ends until neither sends more, or one returns an error.
    fn converse(one: &mut Tls, other: &mut Tls) -> io::Result<()> {
        while !one.unsent().is_empty() || !other.unsent().is_empty() {
            for _ in 0..2 {
                while !one.unsent().is_empty() {
                    let room = other.room();
                    let some = one.unsent().len().min(room.len());
                    room[..some].copy_from_slice(&one.unsent()[..some]);
                    one.sent(some);
                    other.came(some)?;
                    if !other.unsent().is_empty() {
                        break;
                    }
                }
                std::mem::swap(one, other);
            }
        }
        Ok(())
    }

    fn says(speaker: &mut Tls, listener: &mut Tls, bytes: &[u8]) {
        let (mut done, mut heard) = (0, Vec::new());
        while heard.len() < bytes.len() {
            done += speaker.seal(&[IoSlice::new(&bytes[done..])]).unwrap();
            while !speaker.unsent().is_empty() {
                let room = listener.room();
                // The bytes are passed on in parts that do not end with a record.
                let some = speaker.unsent().len().min(room.len()).min(10_007);
                room[..some].copy_from_slice(&speaker.unsent()[..some]);
                speaker.sent(some);
                listener.came(some).unwrap();
                let mut place = vec![0; 20_000];
                let taken = listener.take(&mut [IoSliceMut::new(&mut place)]).unwrap();
                heard.extend_from_slice(&place[..taken]);
            }
        }
        assert!(heard == bytes);
    }

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 31 + (at >> 8)) as u8).collect()
    }

    #[test]
    fn two_ends_with_the_keys_of_a_run_understand_each_other() {
        let security = Security::new(&RunKeys::make());
        let (mut here, mut there) = (security.dialler().unwrap(), security.listener().unwrap());
        here.seal(&[IoSlice::new(b"hel"), IoSlice::new(b"lo")]).unwrap();
        converse(&mut here, &mut there).unwrap();
        let mut heard = [0; 5];
        assert_eq!(there.take(&mut [IoSliceMut::new(&mut heard)]).unwrap(), 5);
        assert_eq!(&heard, b"hello", "what was said early is heard when hands are shaken");
        for len in [1, 16_384, 16_385, 1_000_000] {
            says(&mut here, &mut there, &text(len));
            says(&mut there, &mut here, &text(len));
        }
    }

    /// Makes the settings with the only cipher that rustls uses on processors without instructions for AES.
    fn chacha() -> Security {
        let suites = vec![provider::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
        Security::build(&RunKeys::make(), suites).unwrap()
    }

    #[test]
    fn both_ciphers_carry_messages_through_renewed_keys_and_refuse_what_was_changed() {
        for security in [Security::new(&RunKeys::make()), chacha()] {
            let (mut here, mut there) = (security.dialler().unwrap(), security.listener().unwrap());
            converse(&mut here, &mut there).unwrap();
            here.renews_after(2);
            for len in [1, 16_384, 16_385, 200_000] {
                says(&mut here, &mut there, &text(len));
                says(&mut there, &mut here, &text(len));
            }
            here.seal(&[IoSlice::new(&[7; 100])]).unwrap();
            let mut said = here.unsent().to_vec();
            *said.last_mut().unwrap() ^= 1;
            there.room()[..said.len()].copy_from_slice(&said);
            let came = there.came(said.len());
            let mut place = [0; 200];
            assert!(came.and_then(|()| there.take(&mut [IoSliceMut::new(&mut place)])).is_err());
        }
    }

    #[test]
    fn the_library_follows_when_we_renew_our_keys() {
        for security in [Security::new(&RunKeys::make()), chacha()] {
            let mut ours = security.dialler().unwrap();
            let mut theirs = of_the_library(&security, false);
            let (mut there, mut renews) = (Vec::new(), false);
            // The text needs far more records than one key may seal in this test.
            let (all, mut said) = (text(500_000), 0);
            while there.len() < all.len() {
                let mut bytes = Vec::new();
                while theirs.wants_write() {
                    theirs.write_tls(&mut bytes).unwrap();
                }
                ours.room()[..bytes.len()].copy_from_slice(&bytes);
                ours.came(bytes.len()).unwrap();
                let _ = ours.take(&mut [IoSliceMut::new(&mut [0; 10])]).unwrap();
                if !ours.is_shaking() {
                    if !std::mem::replace(&mut renews, true) {
                        ours.renews_after(3);
                    }
                    said += ours.seal(&[IoSlice::new(&all[said..])]).unwrap();
                }
                let bytes = ours.unsent().to_vec();
                ours.sent(bytes.len());
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    theirs.read_tls(&mut rest).unwrap();
                    theirs.process_new_packets().unwrap();
                    let _ = theirs.reader().read_to_end(&mut there);
                }
            }
            assert!(there == all);
        }
    }

    #[test]
    fn an_update_of_keys_that_asks_for_neither_yes_nor_no_closes_the_stream() {
        for (asks, is_taken) in [(0, true), (1, true), (2, false), (255, false)] {
            let security = Security::new(&RunKeys::make());
            let (mut here, mut there) = (security.dialler().unwrap(), security.listener().unwrap());
            converse(&mut here, &mut there).unwrap();
            here.updates_keys(asks);
            here.seal(&[IoSlice::new(b"after it")]).unwrap();
            let said = here.unsent().to_vec();
            there.room()[..said.len()].copy_from_slice(&said);
            let came = there.came(said.len());
            let mut place = [0; 100];
            let taken = came.and_then(|()| there.take(&mut [IoSliceMut::new(&mut place)]));
            assert_eq!(taken.is_ok(), is_taken, "{asks}: {taken:?}");
        }
    }

    #[test]
    fn keys_are_renewed_again_and_again_and_nothing_is_lost() {
        let security = Security::new(&RunKeys::make());
        let (mut here, mut there) = (security.dialler().unwrap(), security.listener().unwrap());
        converse(&mut here, &mut there).unwrap();
        here.renews_after(5);
        there.renews_after(3);
        for _ in 0..10 {
            says(&mut here, &mut there, &text(200_000));
            says(&mut there, &mut here, &text(100_000));
        }
    }

    #[test]
    fn a_record_with_any_bit_changed_or_said_twice_or_left_out_is_refused() {
        let changes: [fn(&mut Vec<u8>); 5] = [
            |record| record[0] ^= 1,
            |record| record[7] ^= 1,
            |record| *record.last_mut().unwrap() ^= 0x80,
            |record| *record = [&record[..], &record[..]].concat(),
            |record| drop(record.drain(..record.len() / 2)),
        ];
        for change in changes {
            let security = Security::new(&RunKeys::make());
            let (mut here, mut there) = (security.dialler().unwrap(), security.listener().unwrap());
            converse(&mut here, &mut there).unwrap();
            // The two records have the same length.
            here.seal(&[IoSlice::new(&[7; 100])]).unwrap();
            here.seal(&[IoSlice::new(&[8; 100])]).unwrap();
            let mut said = here.unsent().to_vec();
            change(&mut said);
            there.room()[..said.len()].copy_from_slice(&said);
            there.came(said.len()).unwrap();
            let mut place = [0; 1000];
            let outcome = (0..3).try_for_each(|_| there.take(&mut [IoSliceMut::new(&mut place)]).map(|_| ()));
            assert!(outcome.is_err());
        }
    }

    /// Makes a connection of the TLS library itself, with the settings of the same run.
    fn of_the_library(security: &Security, dials: bool) -> Connection {
        if dials {
            let name = ServerName::try_from("ligament").unwrap();
            ClientConnection::new(Arc::clone(&security.client), name).unwrap().into()
        } else {
            ServerConnection::new(Arc::clone(&security.server)).unwrap().into()
        }
    }

    #[test]
    fn an_end_that_leaves_the_records_to_the_library_understands_ours_and_we_its() {
        let security = Security::new(&RunKeys::make());
        for dials in [false, true] {
            let mut ours = if dials { security.listener() } else { security.dialler() }.unwrap();
            let mut theirs = of_the_library(&security, dials);
            theirs.writer().write_all(&text(50_000)).unwrap();
            let (mut here, mut there, mut said) = (Vec::new(), Vec::new(), 0);
            while here.len() < 50_000 || there.len() < 50_000 {
                if said < 50_000 {
                    said += ours.seal(&[IoSlice::new(&text(50_000)[said..])]).unwrap();
                }
                let mut bytes = ours.unsent().to_vec();
                ours.sent(bytes.len());
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    theirs.read_tls(&mut rest).unwrap();
                    theirs.process_new_packets().unwrap();
                    let _ = theirs.reader().read_to_end(&mut there);
                }
                bytes.clear();
                while theirs.wants_write() {
                    theirs.write_tls(&mut bytes).unwrap();
                }
                for part in bytes.chunks(3000) {
                    ours.room()[..part.len()].copy_from_slice(part);
                    ours.came(part.len()).unwrap();
                    let mut place = vec![0; 50_000];
                    let taken = ours.take(&mut [IoSliceMut::new(&mut place)]).unwrap();
                    here.extend_from_slice(&place[..taken]);
                }
            }
            assert!(here == text(50_000) && there == text(50_000));
            assert_eq!(theirs.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
            theirs.refresh_traffic_keys().unwrap();
            theirs.writer().write_all(b"with new keys").unwrap();
            theirs.send_close_notify();
            let mut bytes = Vec::new();
            while theirs.wants_write() {
                theirs.write_tls(&mut bytes).unwrap();
            }
            ours.room()[..bytes.len()].copy_from_slice(&bytes);
            ours.came(bytes.len()).unwrap();
            let mut place = [0; 100];
            let taken = ours.take(&mut [IoSliceMut::new(&mut place)]).unwrap();
            assert_eq!(&place[..taken], b"with new keys");
            assert!(ours.is_closed());
        }
    }

    #[test]
    fn a_new_key_that_the_other_end_asks_for_is_made_before_the_next_record() {
        let security = Security::new(&RunKeys::make());
        let (mut here, mut there) = (security.dialler().unwrap(), security.listener().unwrap());
        converse(&mut here, &mut there).unwrap();
        here.updates_keys(1);
        says(&mut here, &mut there, &text(100));
        there.seal(&[IoSlice::new(&text(100))]).unwrap();
        let (said, answered) = (5 + 100 + 1 + 16, 5 + 5 + 1 + 16);
        assert_eq!(there.unsent().len(), answered + said);
        converse(&mut here, &mut there).unwrap();
        let mut place = [0; 200];
        assert_eq!(here.take(&mut [IoSliceMut::new(&mut place)]).unwrap(), 100);
        says(&mut there, &mut here, &text(100));
    }

    fn refuses(error: &io::Error) -> bool {
        let refused = Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        error.get_ref().and_then(|error| error.downcast_ref::<Error>()) == Some(&refused)
    }

    #[test]
    fn each_end_refuses_the_other_if_it_shows_another_key() {
        let (ours, theirs) = (RunKeys::make(), RunKeys::make());
        let (mut here, mut there) =
            (Security::new(&ours).dialler().unwrap(), Security::new(&theirs).listener().unwrap());
        assert!(refuses(&converse(&mut here, &mut there).unwrap_err()), "the dialler refuses");
        // This dialler accepts the listener's key, but shows a key of its own.
        let mut thief = Security::new(&theirs);
        let shown = Arc::clone(&Security::new(&ours).client.client_auth_cert_resolver);
        Arc::get_mut(&mut thief.client).unwrap().client_auth_cert_resolver = shown;
        let (mut here, mut there) = (thief.dialler().unwrap(), Security::new(&theirs).listener().unwrap());
        assert!(refuses(&converse(&mut here, &mut there).unwrap_err()), "the listener refuses");
    }

    #[test]
    fn who_shows_no_key_is_refused() {
        let keys = RunKeys::make();
        let mut shy = Security::new(&keys);
        Arc::get_mut(&mut shy.client).unwrap().client_auth_cert_resolver = Arc::new(NoClientCertificate);
        let (mut here, mut there) = (shy.dialler().unwrap(), Security::new(&keys).listener().unwrap());
        assert!(converse(&mut here, &mut there).is_err());
    }

    #[derive(Debug)]
    struct NoClientCertificate;

    impl rustls::client::ResolvesClientCert for NoClientCertificate {
        fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
            None
        }

        fn only_raw_public_keys(&self) -> bool {
            true
        }

        fn has_certs(&self) -> bool {
            false
        }
    }
}
