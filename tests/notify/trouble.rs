//! Receivers that are down, slow, failing or lying.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use crate::receivers::{Diagnosis, Folder, Mood, Receivers, Running, SECRET, pass};

#[tokio::test(start_paused = true)]
async fn a_receiver_that_was_down_for_ten_minutes_gets_what_it_missed_once() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    receivers.set(0, Mood::Down);
    Diagnosis::alone("lasting").write(&running);
    Diagnosis::alone("short").write(&running);
    pass(120).await;
    Diagnosis::alone("short").recovered().write(&running);
    pass(480).await;
    assert!(receivers.got(0).is_empty() && receivers.tries(0) < 60, "it backs off: {}", receivers.tries(0));
    assert_eq!(receivers.got(1).len(), 3, "the other one is not held up");
    receivers.set(0, Mood::Fine);
    pass(600).await;
    let mut titles = receivers.titles(0);
    titles.sort();
    assert_eq!(
        titles,
        [
            "Resolved: RegistryConnectionRefused: shop/Deployment/short",
            "Warning: RegistryConnectionRefused: shop/Deployment/lasting"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_answers_holds_up_no_other_and_gets_the_message_later() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    receivers.set(0, Mood::Silent);
    Diagnosis::alone("web").write(&running);
    pass(11).await;
    assert_eq!((receivers.tries(0), receivers.titles(1).len()), (1, 1));
    pass(60).await;
    assert!(receivers.tries(0) > 1, "the request had a time limit");
    receivers.set(0, Mood::Fine);
    pass(120).await;
    assert_eq!(receivers.titles(0).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_server_are_tried_again_and_retry_after_is_honoured() {
    for mood in [Mood::Answers(500, "rollup_error"), Mood::Answers(408, ""), Mood::Answers(503, "")] {
        let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
        let running = Running::start(&folder, &receivers, "");
        receivers.set(0, mood);
        Diagnosis::alone("web").write(&running);
        pass(60).await;
        assert!((4..8).contains(&receivers.tries(0)), "{}", receivers.tries(0));
        receivers.set(0, Mood::Fine);
        pass(60).await;
        assert_eq!(receivers.titles(0).len(), 1);
    }
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    receivers.set(0, Mood::Throttles(300));
    Diagnosis::alone("web").write(&running);
    pass(290).await;
    assert_eq!(receivers.tries(0), 1);
    receivers.set(0, Mood::Fine);
    pass(30).await;
    assert_eq!(receivers.titles(0).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_message_is_not_repeated_and_is_counted() {
    for (mood, tries) in [
        (Mood::Answers(404, "no_service"), 1),
        (Mood::Answers(302, ""), 1),
        // It answers with success and means an error. Another try may help, but it must not hold up other messages.
        (Mood::Answers(200, "invalid_payload"), 5),
    ] {
        let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
        let running = Running::start(&folder, &receivers, "");
        receivers.set(0, mood);
        Diagnosis::alone("web").write(&running);
        pass(3600).await;
        assert_eq!(receivers.tries(0), tries);
        let text = running.metrics.encode().unwrap();
        for line in [
            "shindan_notifications_dropped_total{receiver=\"first\"} 1\n",
            "shindan_notification_failures_total{receiver=\"first\",reason=\"rejected\"} 1\n",
            "shindan_notifications_sent_total{receiver=\"second\"} 1\n",
        ] {
            assert!(text.contains(line), "no {line} in\n{text}");
        }
        receivers.set(0, Mood::Fine);
        Diagnosis::alone("api").write(&running);
        pass(60).await;
        assert_eq!(receivers.titles(0).len(), 1, "later messages arrive");
    }
}

/// Log lines in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_logged_or_sent_to_the_engine() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    // For all threads: with a subscriber of one thread, log statements that another test reaches first stay off. The lines of
    // other tests are searched for the secret, too.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let mut running = Running::start(&folder, &receivers, "");
    // The body repeats the secret, as a proxy may.
    let repeats: &'static str = String::leak(format!("https://hooks.example.com/services/{SECRET}"));
    for mood in [Mood::Down, Mood::Answers(500, repeats), Mood::Answers(404, repeats), Mood::Answers(200, repeats)] {
        receivers.set(0, mood);
        Diagnosis::alone("web").write(&running);
        pass(600).await;
        Diagnosis::alone("web").recovered().write(&running);
        pass(600).await;
    }
    // The file is replaced by one that is no URL.
    std::fs::write(folder.path("url"), format!("http://{SECRET}.example.com")).unwrap();
    Diagnosis::alone("api").write(&running);
    pass(600).await;
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("a notification failed") && text.contains("rejects notifications"), "{text}");
    assert!(!text.to_lowercase().contains(&SECRET.to_lowercase()), "{text}");
    assert!(running.marks().values().flatten().all(|mark| !mark.contains(SECRET)));
}

#[tokio::test(start_paused = true)]
async fn a_rotated_secret_is_used_without_a_restart() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    std::fs::remove_file(folder.path("url")).unwrap();
    Diagnosis::alone("web").write(&running);
    pass(60).await;
    assert_eq!(receivers.tries(0), 0);
    std::fs::write(folder.path("url"), "https://hooks.example.com/services/new").unwrap();
    pass(60).await;
    assert_eq!(receivers.titles(0).len(), 1);
}
