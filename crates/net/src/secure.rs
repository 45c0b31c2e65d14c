//! TLS 1.3 as runs use it: both ends show the key of the run, raw (RFC 7250), and take no other; nothing is resumed.

use crate::keys::RunKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{ring as provider, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, DistinguishedName,
    Error, ServerConfig, ServerConnection, SignatureScheme,
};
use std::sync::Arc;

/// Before the seed of an Ed25519 key in PKCS #8 (RFC 8410, section 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// Makes both sides of encrypted streams.
pub(crate) struct Security {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Security {
    pub fn new(keys: &RunKeys) -> Security {
        Security::build(keys).expect("the library knows TLS 1.3 and Ed25519")
    }

    fn build(keys: &RunKeys) -> Result<Security, Error> {
        let provider = Arc::new(CryptoProvider {
            cipher_suites: vec![
                provider::cipher_suite::TLS13_AES_128_GCM_SHA256,
                provider::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
            ],
            kx_groups: vec![provider::kx_group::X25519],
            ..provider::default_provider()
        });
        let key = PrivatePkcs8KeyDer::from([&PKCS8[..], &keys.identity()].concat());
        let key = provider::sign::any_eddsa_type(&key)?;
        let public = key.public_key().ok_or(Error::General("a key has a public half".into()))?;
        let shown = CertificateDer::from(public.to_vec());
        let pinned = Arc::new(Pinned { key: shown.clone().into_owned(), provider: Arc::clone(&provider) });
        let identity = Arc::new(CertifiedKey::new(vec![shown.into_owned()], key));
        let versions = &[&rustls::version::TLS13];
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&pinned) as _)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&identity))));
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)?
            .with_client_cert_verifier(pinned)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity)));
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Security { client: Arc::new(client), server: Arc::new(server) })
    }

    /// The side that dials.
    pub fn dialler(&self) -> Result<Connection, Error> {
        // Nobody is known by name; the key says who it is.
        let name = ServerName::try_from("ligament").expect("a name");
        let mut connection = ClientConnection::new(Arc::clone(&self.client), name)?;
        connection.set_buffer_limit(None);
        Ok(connection.into())
    }

    /// The side that listens.
    pub fn listener(&self) -> Result<Connection, Error> {
        let mut connection = ServerConnection::new(Arc::clone(&self.server))?;
        connection.set_buffer_limit(None);
        Ok(connection.into())
    }
}

/// Takes one key and no other.
#[derive(Debug)]
struct Pinned {
    key: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
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

const TLS12: &str = "TLS 1.2 is not spoken";

impl ServerCertVerifier for Pinned {
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
        Err(Error::General(TLS12.into()))
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

impl ClientCertVerifier for Pinned {
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
        Err(Error::General(TLS12.into()))
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
    use std::io::{Read, Write};

    /// Carries what the two say to each other until nobody says more, or one has enough of it.
    fn converse(one: &mut Connection, other: &mut Connection) -> Result<(), Error> {
        while one.wants_write() || other.wants_write() {
            for _ in 0..2 {
                let mut said = Vec::new();
                while one.wants_write() {
                    one.write_tls(&mut said).unwrap();
                }
                let mut said = &said[..];
                while !said.is_empty() {
                    other.read_tls(&mut said).unwrap();
                    other.process_new_packets()?;
                }
                std::mem::swap(one, other);
            }
        }
        Ok(())
    }

    #[test]
    fn two_ends_with_the_keys_of_a_run_speak_tls_1_3() {
        let security = Security::new(&RunKeys::make());
        let (mut here, mut there) = (security.dialler().unwrap(), security.listener().unwrap());
        here.writer().write_all(b"hello").unwrap();
        converse(&mut here, &mut there).unwrap();
        let mut heard = [0; 5];
        there.reader().read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
        assert_eq!(here.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    }

    #[test]
    fn each_end_refuses_the_other_if_it_shows_another_key() {
        let (ours, theirs) = (RunKeys::make(), RunKeys::make());
        let (mut here, mut there) =
            (Security::new(&ours).dialler().unwrap(), Security::new(&theirs).listener().unwrap());
        let refused = Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        assert_eq!(converse(&mut here, &mut there), Err(refused.clone()), "the dialler refuses");
        // A dialler that would take any key, to see that the listener does not.
        let mut careless = Security::new(&theirs);
        let shown = Security::new(&ours);
        let pinned = CertificateDer::from(public_key(&theirs));
        let provider = Arc::clone(careless.client.crypto_provider());
        let config = Arc::get_mut(&mut careless.client).unwrap();
        config.client_auth_cert_resolver = Arc::clone(&shown.client.client_auth_cert_resolver);
        config.dangerous().set_certificate_verifier(Arc::new(Pinned { key: pinned, provider }));
        let (mut here, mut there) = (careless.dialler().unwrap(), Security::new(&theirs).listener().unwrap());
        assert_eq!(converse(&mut here, &mut there), Err(refused), "the listener refuses");
    }

    fn public_key(keys: &RunKeys) -> Vec<u8> {
        let key = PrivatePkcs8KeyDer::from([&PKCS8[..], &keys.identity()].concat());
        provider::sign::any_eddsa_type(&key).unwrap().public_key().unwrap().to_vec()
    }

    #[test]
    fn who_shows_no_key_is_refused() {
        let keys = RunKeys::make();
        let mut shy = Security::new(&keys);
        Arc::get_mut(&mut shy.client).unwrap().client_auth_cert_resolver = Arc::new(ShowsNothing);
        let (mut here, mut there) = (shy.dialler().unwrap(), Security::new(&keys).listener().unwrap());
        assert!(converse(&mut here, &mut there).is_err());
    }

    #[derive(Debug)]
    struct ShowsNothing;

    impl rustls::client::ResolvesClientCert for ShowsNothing {
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
