use super::*;

fn chosen(words: &str) -> Option<String> {
    record::decisive(words).map(|chosen| chosen.text)
}

#[test]
fn most_informative_line_is_chosen() {
    assert_eq!(chosen("starting\nError: no DATABASE_URL\nbye\n").as_deref(), Some("Error: no DATABASE_URL"));
    assert_eq!(chosen("one\ntwo\n\n").as_deref(), Some("two"));
    assert_eq!(chosen(" \n"), None);
}

#[test]
fn zod_reports_the_field_below() {
    let zod = "ZodError: [\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \"string\",\n    \"received\": \"undefined\",\n    \
               \"path\": [\n      \"DATABASE_URL\"\n    ],\n    \"message\": \"Required\"\n  }\n]\n    at Object.get error [as error] \
               (/app/node_modules/zod/lib/types.js:55:31)\n\nNode.js v20.11.0\n";
    assert_eq!(chosen(zod).as_deref(), Some("ZodError: DATABASE_URL: Required"));
}

#[test]
fn exception_is_shortened_to_its_class_name() {
    for (line, expected) in [
        ("java.lang.IllegalStateException: no token", "IllegalStateException: no token"),
        ("django.core.exceptions.ImproperlyConfigured: no key", "ImproperlyConfigured: no key"),
        ("db.shop.svc: no such host", "db.shop.svc: no such host"),
        ("10.0.0.1:80: refused", "10.0.0.1:80: refused"),
        ("open /a.b.C: no such file", "open /a.b.C: no such file"),
    ] {
        assert_eq!(bare(line), expected);
    }
}

#[test]
fn stack_frames_are_skipped() {
    let node = "node:events:497\n      throw er; // Unhandled 'error' event\n      ^\n\n\
                Error: listen EADDRINUSE: address already in use :::3000\n    at Server.setupListenHandle (node:net:1817:16)\n\
                Emitted 'error' event on Server instance at:\n    at emitErrorNT (node:net:1796:8) {\n  code: 'EADDRINUSE'\n}\n\n\
                Node.js v20.11.0\n";
    assert_eq!(chosen(node).as_deref(), Some("Error: listen EADDRINUSE: address already in use :::3000"));
    let go = "panic: missing config\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/main.go:8 +0x39\nexit status 2\n";
    assert_eq!(chosen(go).as_deref(), Some("panic: missing config"));
    let rust = "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds\n\
                note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    assert_eq!(chosen(rust).as_deref(), Some("thread 'main' panicked at src/main.rs:2:5: index out of bounds"));
    let unwrap = "thread 'main' panicked at src/main.rs:2:5:\ncalled `Result::unwrap()` on an `Err` value: ParseIntError\n\
                  note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    let whole = "thread 'main' panicked at src/main.rs:2:5: called `Result::unwrap()` on an `Err` value: ParseIntError";
    assert_eq!(chosen(unwrap).as_deref(), Some(whole));
    let npm = "Error: Cannot find module 'express'\nnpm ERR! code ELIFECYCLE\nnpm ERR! Exit status 1\n";
    assert_eq!(chosen(npm).as_deref(), Some("Error: Cannot find module 'express'"));
}

#[test]
fn messages_of_launchers_are_skipped() {
    let gunicorn = "ModuleNotFoundError: No module named 'shop.wsgi'\n[2026-11-23 10:00:00 +0000] [7] [INFO] Worker exiting (pid: 7)\n\
                    [2026-11-23 10:00:00 +0000] [1] [ERROR] Worker (pid:7) exited with code 3\n\
                    [2026-11-23 10:00:00 +0000] [1] [ERROR] Reason: Worker failed to boot.\n";
    assert_eq!(chosen(gunicorn).as_deref(), Some("ModuleNotFoundError: No module named 'shop.wsgi'"));
    let node = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n\
                ----- Native stack trace -----\n\n 1: 0xb80c0c node::OOMErrorHandler(char const*) [node]\nAborted (core dumped)\n";
    assert!(chosen(node).unwrap().ends_with("JavaScript heap out of memory"));
    let spring = "APPLICATION FAILED TO START\n***************************\n\nDescription:\n\n\
                  Failed to configure a DataSource: 'url' attribute is not specified.\n\n\
                  Reason: Failed to determine a suitable driver class\n\nAction:\n\nConsider the following:\n";
    assert!(chosen(spring).unwrap().starts_with("Failed to configure a DataSource"));
    let flag = "flag provided but not defined: -metrics-adr\nUsage of /manager:\n  -kubeconfig string\n    \tPaths to a kubeconfig. Only required if out-of-cluster.\n";
    assert_eq!(chosen(flag).as_deref(), Some("flag provided but not defined: -metrics-adr"));
    for (words, line) in [
        (
            "PANIC:  could not write to file \"pg_wal/x\": No space left on device\nLOG:  aborting startup due to startup process failure\n",
            "PANIC:  could not write",
        ),
        (
            "Unrecognized VM option 'UseConcMarkSweepGC'\nError: Could not create the Java Virtual Machine.\nError: A fatal exception has occurred. Program will exit.\n",
            "Unrecognized VM option",
        ),
        (
            "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)\nnginx: [emerg] still could not bind()\n",
            "nginx: [emerg] bind() to",
        ),
    ] {
        assert!(chosen(words).unwrap().starts_with(line), "{words}");
    }
    for (words, line) in [
        (
            "E1124 04:00:00.000000       1 reflector.go:147] failed to list *v1.Node: nodes is forbidden: User \"x\" cannot list\n\
             {\"level\":\"error\",\"msg\":\"problem running manager\",\"error\":\"failed to wait for node caches to sync: timed out\"}\n",
            "E1124 04:00:00.000000       1 reflector.go:147] failed to list",
        ),
        (
            "1:M 24 Nov 2026 04:00:00.001 # Warning: Could not create server TCP listening socket *:6379: bind: Address in use\n\
             1:M 24 Nov 2026 04:00:00.001 # Failed listening on port 6379 (tcp), aborting.\n",
            "1:M 24 Nov 2026 04:00:00.001 # Warning: Could not create",
        ),
        (
            "MongoServerError: Authentication failed.\n    at Connection.onMessage (/app/x.js:210:30) {\n  ok: 0,\n  code: 18,\n  codeName: 'AuthenticationFailed'\n}\n",
            "MongoServerError: Authentication failed.",
        ),
        (
            "{\"s\":\"E\",\"msg\":\"WiredTiger error message\",\"attr\":{\"error\":28,\"message\":\"pwrite: failed to write: No space left on device\"}}\n\
             {\"s\":\"F\",\"msg\":\"Fatal assertion\",\"attr\":{\"msgid\":50853}}\n\
             {\"s\":\"F\",\"msg\":\"\\n\\n***aborting after fassert() failure\\n\\n\"}\n",
            "WiredTiger error message: pwrite: failed to write",
        ),
        (
            "1 [ERROR] [MY-012574] [InnoDB] Unable to lock ./ibdata1 error: 11\n0 [ERROR] [MY-010334] [Server] Failed to initialize DD Storage Engine\n\
             0 [ERROR] [MY-010020] [Server] Data Dictionary initialization failed.\n0 [ERROR] [MY-010119] [Server] Aborting\n",
            "1 [ERROR] [MY-012574] [InnoDB] Unable to lock ./ibdata1",
        ),
    ] {
        assert!(chosen(words).unwrap().starts_with(line), "{words}");
    }
    let pydantic = "1 validation error for Settings\ndatabase_url\n  Field required [type=missing, input_value={}]\n";
    assert_eq!(chosen(pydantic).as_deref(), Some("database_url: Field required [type=missing, input_value={}]"));
}

#[test]
fn prefixes_of_a_message_are_removed() {
    for (line, rest) in [
        (
            "E1123 10:00:00.000000       1 leaderelection.go:330] error retrieving resource lock",
            "error retrieving resource lock",
        ),
        ("2026/11/23 10:00:00 [emerg] 1#1: mkdir() failed", "mkdir() failed"),
        (
            "2026-11-23 22:05:01,002 ERROR [org.keycloak.Handler] (main) Strict hostname resolution",
            "Strict hostname resolution",
        ),
        ("[2026-11-23 10:00:00 +0000] [1] [ERROR] Reason: it failed", "Reason: it failed"),
        (
            "2026.11.23 10:00:00.123456 [ 1 ] {} <Error> Application: DB::Exception: it failed",
            "DB::Exception: it failed",
        ),
        ("2026-11-23T10:00:00.123Z ERROR 1 --- [main] o.s.boot.SpringApplication : it failed", "it failed"),
        ("thread 'main' panicked at src/main.rs:2:5: index out of bounds", "index out of bounds"),
        ("2026-11-21  9:03:41 0 [ERROR] InnoDB: File ./a: not found", "InnoDB: File ./a: not found"),
        ("2026-11-21T09:03:41Z FTL cannot open it", "cannot open it"),
        ("[21-Nov-2026 09:03:41] ERROR: [pool www] cannot get uid", "[pool www] cannot get uid"),
        ("ERROR [main] 2026-11-21 09:03:42,123 CassandraDaemon.java:911 - it failed", "it failed"),
        ("[Nest] 1  - 11/21/2026, 9:03:44 AM   ERROR [ExceptionHandler] connect ECONNREFUSED", "connect ECONNREFUSED"),
        ("Caught exception while loading metadata: Code: 48. DB::Exception: Cannot attach it", "Cannot attach it"),
        (
            "[2026-11-23 10:00:00,000: CRITICAL/MainProcess] Unrecoverable error: AccessRefused(403)",
            "Unrecoverable error: AccessRefused(403)",
        ),
        ("ERROR 1045 (28000): Access denied for user 'shop'", "ERROR 1045 (28000): Access denied for user 'shop'"),
        ("FATAL:  database \"shop\" does not exist", "database \"shop\" does not exist"),
        (
            "psycopg2.OperationalError: connection to server at \"db\" (10.96.3.9), port 5432 failed: FATAL:  the database system is starting up",
            "the database system is starting up",
        ),
        (
            "sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to server at \"10.96.3.9\", port 5432 failed: FATAL:  sorry, too many clients already",
            "sorry, too many clients already",
        ),
        (
            "[2026-11-24 04:00:00.000][1][critical][main] [source/server/server.cc:131] error initializing configuration",
            "error initializing configuration",
        ),
        ("Error: listen EADDRINUSE", "Error: listen EADDRINUSE"),
        ("ERROR: failed", "ERROR: failed"),
    ] {
        assert_eq!(bare(line), rest, "{line}");
    }
}

#[test]
fn npm_error_is_chosen_if_the_program_logs_nothing() {
    for npm in ["npm ERR!", "npm error"] {
        let script =
            format!("{npm} Missing script: \"start\"\n{npm} \n{npm} To see a list of scripts, run:\n{npm}   npm run\n");
        assert_eq!(chosen(&script), Some(format!("{npm} Missing script: \"start\"")));
    }
}

#[test]
fn nginx_configuration_error_is_chosen() {
    let nginx = "nginx: [emerg] unknown directive \"servr\" in /etc/nginx/nginx.conf:12\n\
                 nginx: configuration file /etc/nginx/nginx.conf test failed\n";
    let chosen = chosen(nginx);
    assert_eq!(chosen.as_deref(), Some("nginx: [emerg] unknown directive \"servr\" in /etc/nginx/nginx.conf:12"));
}

#[test]
fn message_and_error_of_a_json_line_are_joined() {
    let line = r#"{"level":"fatal","ts":1,"msg":"cannot start","error":"listen tcp :80: bind: permission denied"}"#;
    assert_eq!(chosen(line).as_deref(), Some("cannot start: listen tcp :80: bind: permission denied"));
    assert_eq!(chosen("{not json: error}").as_deref(), Some("{not json: error}"));
    let pairs = r#"ts=2026-11-23T10:00:00Z caller=main.go:1 level=error msg="Error loading config" file=/etc/a.yml err="open \"/etc/a.yml\": no such file or directory""#;
    assert_eq!(chosen(pairs).as_deref(), Some(r#"Error loading config: open "/etc/a.yml": no such file or directory"#));
}

#[test]
fn formats_of_loggers_are_read() {
    for (log, line) in [
        (
            "E1121 09:03:41.123456       1 start.go:87] \"Cannot start\" err=\"open /certs/tls.crt: no such file or directory\" logger=\"x\"\n",
            "Cannot start: open /certs/tls.crt: no such file or directory",
        ),
        (
            "2026-11-21T09:03:41Z\tERROR\tsetup\tproblem running manager\t{\"error\": \"no matches for kind \\\"Widget\\\"\"}\nmain.main\n\t/workspace/main.go:120\nruntime.main\n\t/usr/local/go/src/runtime/proc.go:271\n",
            "problem running manager: no matches for kind \"Widget\"",
        ),
        (
            "2026-11-21T09:03:41Z FTL cannot open database error=\"no such file or directory\" path=/data/app.db\n",
            "cannot open database /data/app.db: no such file or directory",
        ),
        (
            "Error: failed to read config\n\nCaused by:\n    0: open config file /etc/app/config.toml\n    1: No such file or directory (os error 2)\n",
            "Error: failed to read config: open config file /etc/app/config.toml: No such file or directory (os error 2)",
        ),
        (
            "Traceback (most recent call last):\n  File \"/app/main.py\", line 5, in <module>\n    settings = Settings()\npydantic_core.ValidationError: 1 validation error for Settings\ndatabase_url\n  Field required [type=missing, input_value={}]\n",
            "database_url: Field required [type=missing, input_value={}]",
        ),
        (
            "Traceback (most recent call last):\n  File \"/app/train.py\", line 12, in <module>\nOSError: You are trying to access a gated repo.\nMake sure to have access to it at https://hub.example/a.\n401 Client Error. (Request ID: x)\n",
            "OSError: You are trying to access a gated repo.",
        ),
        (
            "InitError: could not locate the engine for \"musl\".\n\nThis happened because the client was generated for \"debian\", but \"musl\" is required.\n    at new T (/app/x.js:1:2)\n",
            "InitError: could not locate the engine for \"musl\".",
        ),
        (
            "*** FATAL CONFIG FILE ERROR (Redis 7.2.4) ***\nReading the configuration file, at line 3\n>>> 'appendonly yess'\nargument must be 'yes' or 'no'\n",
            "'appendonly yess': argument must be 'yes' or 'no'",
        ),
        (
            "Error: Error acquiring the state lock\n\nError message: ConditionalCheckFailedException: The conditional request failed\n",
            "Error: Error acquiring the state lock: ConditionalCheckFailedException: The conditional request failed",
        ),
    ] {
        assert_eq!(chosen(log).as_deref(), Some(line), "{log}");
    }
}

#[test]
fn cause_precedes_the_announcement_of_the_end() {
    for (log, line) in [
        (
            "[2026-11-21 08:58:58,000] ERROR Fatal error during broker startup. Prepare to shutdown (kafka.server.BrokerServer)\n\
             org.apache.kafka.common.KafkaException: Failed to acquire lock on file .lock in /data. A Kafka instance in another process or thread is using this directory.\n\
             \tat kafka.server.BrokerServer.startup(BrokerServer.scala:180)\n\
             [2026-11-21 08:58:58,100] INFO shutting down (kafka.server.BrokerServer)\n\
             [2026-11-21 08:58:58,310] ERROR Exiting Kafka due to fatal exception during startup. (kafka.Kafka$)\n",
            "org.apache.kafka.common.KafkaException: Failed to acquire lock on file .lock in /data. A Kafka instance in another process or thread is using this directory.",
        ),
        (
            "2026-11-21 08:58:58.100 UTC [1] FATAL:  database files are incompatible with server\n\
             2026-11-21 08:58:58.101 UTC [1] DETAIL:  The data directory was initialized by PostgreSQL version 15.\n\
             2026-11-21 08:58:58.102 UTC [1] HINT:  Use the old version.\n",
            "2026-11-21 08:58:58.100 UTC [1] FATAL:  database files are incompatible with server: The data directory was initialized by PostgreSQL version 15.",
        ),
        (
            "\n*** FATAL CONFIG FILE ERROR (Redis 7.2.4) ***\nReading the configuration file, at line 5\n>>> 'maxmemory-polcy x'\nBad directive or wrong number of arguments\n",
            "'maxmemory-polcy x': Bad directive or wrong number of arguments",
        ),
        (
            "Caused by: java.io.IOException: Failed to bind to /0.0.0.0:8080\n\tat a.b.C.d(C.java:1)\nCaused by: java.net.BindException: Address already in use\n\t... 2 more\nexiting abnormally\n",
            "Caused by: java.io.IOException: Failed to bind to /0.0.0.0:8080: BindException: Address already in use",
        ),
        (
            "2026-11-21 08:58:58.200 ERROR 1 --- [main] o.s.boot.SpringApplication : Application run failed\n\n\
             org.springframework.beans.factory.BeanCreationException: Error creating bean with name 'flyway'\n\
             \tat org.springframework.X.y(X.java:10)\n\
             Caused by: org.flywaydb.core.api.exception.FlywayValidateException: Validate failed: Migrations have failed validation\n\
             Migration checksum mismatch for migration version 3\n\
             \tat org.flywaydb.core.Flyway.z(Flyway.java:1)\n\t... 18 common frames omitted\n",
            "Caused by: org.flywaydb.core.api.exception.FlywayValidateException: Validate failed: Migrations have failed validation: Migration checksum mismatch for migration version 3",
        ),
        (
            "[2026-11-21 08:58:01,101] INFO starting (x)\n\
             [2026-11-21 08:58:03,101] ERROR Error while fetching metadata with correlation id 2 : {orders=UNKNOWN_TOPIC_OR_PARTITION} (org.apache.kafka.clients.NetworkClient)\n\
             org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.\n",
            "Error while fetching metadata with correlation id 2 : {orders=UNKNOWN_TOPIC_OR_PARTITION}: UnknownTopicOrPartitionException: This server does not host this topic-partition.",
        ),
        (
            "[ERROR] cannot read secret: Error making API request.\n\nURL: GET https://vault:8200/v1/kv/data/app\nCode: 503. Errors:\n\n* Vault is sealed\n",
            "[ERROR] cannot read secret: Error making API request: Vault is sealed",
        ),
        (
            "connecting to the queue\nERROR: no credentials for queue \"orders\" found in /etc/queue\n/entrypoint.sh: line 12:    25 Aborted     (core dumped) run\n",
            "ERROR: no credentials for queue \"orders\" found in /etc/queue",
        ),
    ] {
        assert_eq!(chosen(log).as_deref(), Some(line), "{log}");
    }
}

#[test]
fn warnings_of_startup_do_not_replace_the_failure() {
    let log = "WARN: config file /etc/app.yaml not found, using defaults\nINFO: started on port 8080\nINFO: 1\nINFO: 2\n\
               panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/main.go:8 +0x39\n";
    assert_eq!(chosen(log).as_deref(), Some("panic: runtime error: index out of range [3] with length 3"));
}

#[test]
fn lines_are_shown_without_advice_and_with_both_ends() {
    let mongod =
        "NonExistentPath: Data directory /data/db not found. Create the missing directory or specify another path";
    assert_eq!(shown(mongod, 130), "NonExistentPath: Data directory /data/db not found");
    let elasticsearch = "fatal exception while booting Elasticsearch: cannot upgrade from 7.9.0 directly to 8.11.0, upgrade to 7.17.0 first";
    assert_eq!(shown(elasticsearch, 90), "cannot upgrade from 7.9.0 directly to 8.11.0, upgrade to 7.17.0 first");
    let term = "\"Node rabbit@mq-1 thinks it's clustered with node rabbit@mq-0, but rabbit@mq-0 disagrees\"}}";
    assert_eq!(
        shown(term, 130),
        "Node rabbit@mq-1 thinks it's clustered with node rabbit@mq-0, but rabbit@mq-0 disagrees"
    );
    let long = "failed to warm certificate: failed to generate workload certificate: create certificate: rpc error: code = Unavailable desc = dial tcp: lookup istiod.istio-system.svc: no such host";
    assert_eq!(shown(long, 90), "failed to warm certificate: failed to… lookup istiod.istio-system.svc: no such host");
}
