//! The protocol's side: calls come in, few of them work at once, answers go
//! out, and who follows a resource is told when it changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::fault::Fault;
use super::place::Place;
use super::{resources, tools};
use crate::policy::Policy;
use crate::runtime::cancel::Cancel;

/// How many calls look at the project at once.
const LOOKS: usize = 4;
/// How many dispatches run at once.
const DISPATCHES: usize = 4;
/// How often the project is looked at while an answer is waited for, or a
/// resource followed.
const POLL: Duration = Duration::from_secs(1);

type Context = RequestContext<RoleServer>;

/// What is said to an agent before its first call.
const INSTRUCTIONS: &str = "ghyll has a named person answer for your work before it crosses from \
    one role to the next. When your work on an arrow is ready, call `dispatch` with what you can \
    say of each clause; mend what fails and dispatch again. Attested clauses are answered by an \
    operator, in their own terminal and in their own time: wait with `pending`. You cannot give a \
    verdict, and you should not ask to.";

/// The server of one client.
pub(super) struct Server {
    place: Arc<Place>,
    tools: tools::Tools,
    looks: Arc<Semaphore>,
    dispatches: Arc<Semaphore>,
    /// Whether the client has gone.
    gone: watch::Receiver<bool>,
    /// The resources that are followed, each with what it said last.
    followed: Arc<Mutex<BTreeMap<String, String>>>,
    /// Whether somebody looks after them.
    following: AtomicBool,
}

impl Server {
    pub(super) fn new(root: &Path, policy: Arc<Policy>, gone: watch::Receiver<bool>) -> Self {
        Self {
            place: Arc::new(Place::new(root, policy)),
            tools: tools::all().into(),
            looks: Arc::new(Semaphore::new(LOOKS)),
            dispatches: Arc::new(Semaphore::new(DISPATCHES)),
            gone,
            followed: Arc::default(),
            following: AtomicBool::new(false),
        }
    }

    /// Looks at the project on a thread of its own, as soon as there is one.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        look_at(&self.place, &self.looks, look).await
    }

    /// As [`Self::look`], unless the client calls it off before.
    async fn look_for<T: Send + 'static>(
        &self,
        context: &Context,
        look: impl FnOnce(&Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        tokio::select! {
            () = context.ct.cancelled() => Err(Fault::called_off()),
            done = self.look(look) => done,
        }
    }

    async fn call(
        &self,
        name: &str,
        given: Option<JsonObject>,
        context: &Context,
    ) -> Result<Value, Fault> {
        match name {
            "status" => {
                let arguments = tools::arguments(given)?;
                self.look_for(context, move |place| tools::status(place, &arguments))
                    .await
            }
            "dispatch" => self.dispatch(tools::arguments(given)?, context).await,
            "pending" => self.pending(tools::arguments(given)?, context).await,
            "history" => {
                let arguments = tools::arguments(given)?;
                self.look_for(context, move |place| tools::history(place, &arguments))
                    .await
            }
            _ => tools::explain(&tools::arguments(given)?),
        }
    }

    async fn dispatch(
        &self,
        arguments: tools::DispatchArguments,
        context: &Context,
    ) -> Result<Value, Fault> {
        let permit = tokio::select! {
            () = context.ct.cancelled() => return Err(Fault::called_off()),
            permit = Arc::clone(&self.dispatches).acquire_owned() => permit,
        };
        let (place, cancel) = (Arc::clone(&self.place), Cancel::default());
        let called_off = cancel.clone();
        let mut running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            tools::dispatch(&place, arguments, &called_off)
        });
        let done = tokio::select! {
            () = context.ct.cancelled() => {
                cancel.cancel();
                running.await
            }
            done = &mut running => done,
        };
        done.map_err(|error| Fault::new("mcp-failed", error))?
    }

    async fn pending(
        &self,
        arguments: tools::PendingArguments,
        context: &Context,
    ) -> Result<Value, Fault> {
        if arguments.wait_seconds > tools::WAIT_MAX {
            let message = format!("wait_seconds is at most {}", tools::WAIT_MAX);
            return Err(Fault::arguments(message));
        }
        let waits = arguments.wait_seconds > 0;
        let end = Instant::now() + Duration::from_secs(arguments.wait_seconds);
        let watched = Arc::new(self.look_for(context, tools::watched).await?);
        let mut gone = self.gone.clone();
        let mut seen = None;
        loop {
            let left = *gone.borrow();
            let time_up = waits && Instant::now() >= end;
            let last = !waits || time_up || left;
            let (now, known) = (Arc::clone(&watched), seen);
            let look = move |place: &Place| {
                let print = place.fingerprint()?;
                if known == Some(print) && !last {
                    return Ok((print, None));
                }
                Ok((print, tools::pending(place, &now, last, time_up)?))
            };
            let (print, result) = self.look_for(context, look).await?;
            if let Some(result) = result {
                return Ok(result);
            }
            seen = Some(print);
            tokio::select! {
                () = context.ct.cancelled() => return Err(Fault::called_off()),
                _ = gone.wait_for(|gone| *gone) => {}
                () = tokio::time::sleep_until(end.min(Instant::now() + POLL)) => {}
            }
        }
    }

    /// What resources say now, so that it is known when they say something
    /// else.
    async fn states(&self, uris: Vec<String>) -> Result<BTreeMap<String, String>, Fault> {
        self.look(move |place| {
            let with_state = |uri: String| Ok((uri.clone(), resources::state(place, &uri)?));
            uris.into_iter().map(with_state).collect()
        })
        .await
    }
}

async fn look_at<T: Send + 'static>(
    place: &Arc<Place>,
    looks: &Arc<Semaphore>,
    look: impl FnOnce(&Place) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let failed = |error: &dyn std::fmt::Display| Fault::new("mcp-failed", error);
    // Given back when the thread is done, whether or not anybody still waits.
    let permit = Arc::clone(looks).acquire_owned().await;
    let permit = permit.map_err(|error| failed(&error))?;
    let place = Arc::clone(place);
    let looking = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        look(&place)
    });
    looking.await.map_err(|error| failed(&error))?
}

/// Tells a client of the resources it follows, for as long as it is there.
async fn follow(
    place: Arc<Place>,
    looks: Arc<Semaphore>,
    followed: Arc<Mutex<BTreeMap<String, String>>>,
    peer: Peer<RoleServer>,
    mut gone: watch::Receiver<bool>,
) {
    let mut seen = None;
    loop {
        tokio::select! {
            _ = gone.wait_for(|gone| *gone) => return,
            () = tokio::time::sleep(POLL) => {}
        }
        let known = followed.lock().clone();
        if known.is_empty() {
            continue;
        }
        let Some((print, changed)) = look_for_changes(&place, &looks, seen, known).await else {
            continue;
        };
        seen = Some(print);
        for (uri, state) in changed {
            match followed.lock().get_mut(&uri) {
                Some(known) => *known = state,
                None => continue,
            }
            let told = rmcp::model::ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(told).await.is_err() {
                return;
            }
        }
    }
}

/// What changed among what is followed; `None` if nothing can be said.
async fn look_for_changes(
    place: &Arc<Place>,
    looks: &Arc<Semaphore>,
    seen: Option<(u64, usize)>,
    known: BTreeMap<String, String>,
) -> Option<((u64, usize), BTreeMap<String, String>)> {
    let look = move |place: &Place| {
        // More of them may be followed than when the files were as they are.
        let print = (place.fingerprint()?, known.len());
        if seen == Some(print) {
            return Ok((print, BTreeMap::new()));
        }
        Ok((print, resources::changed(place, &known)))
    };
    look_at(place, looks, look).await.ok()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ghyll", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams {
            name, arguments, ..
        } = request;
        if self.get_tool(&name).is_none() {
            let name = crate::text::excerpt(&name);
            return Err(ErrorData::invalid_params(
                format!("there is no tool {name:?}"),
                None,
            ));
        }
        let result = match self.call(&name, arguments, &context).await {
            Ok(value) => CallToolResult::structured(value),
            Err(fault) => fault.result(),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = self.look_for(&context, resources::all).await;
        let all = all.map_err(|fault| resources::error(&fault))?;
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = move |place: &Place| resources::read(place, &request.uri);
        let contents = self.look_for(&context, read).await;
        let contents = contents.map_err(|fault| resources::error(&fault))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let states = self.states(vec![request.uri]).await;
        let states = states.map_err(|fault| resources::error(&fault))?;
        let mut followed = self.followed.lock();
        if followed.len() >= resources::FOLLOWED_MAX {
            let message = format!("at most {} are followed", resources::FOLLOWED_MAX);
            return Err(ErrorData::invalid_params(message, None));
        }
        followed.extend(states);
        drop(followed);
        if !self.following.swap(true, Ordering::Relaxed) {
            tokio::spawn(follow(
                Arc::clone(&self.place),
                Arc::clone(&self.looks),
                Arc::clone(&self.followed),
                context.peer,
                self.gone.clone(),
            ));
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.followed.lock().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let ours = uris.filter(|uri| resources::is_ours(uri));
        Some(
            SubscriptionFilter::builder()
                .resource_subscriptions(ours.take(resources::FOLLOWED_MAX).cloned())
                .build(),
        )
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = context.accepted().resource_subscriptions.clone();
        let known = self.states(uris.unwrap_or_default()).await;
        let mut known = known.map_err(|fault| resources::error(&fault))?;
        let mut gone = self.gone.clone();
        let mut seen = None;
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                _ = gone.wait_for(|gone| *gone) => return Ok(()),
                () = tokio::time::sleep(POLL) => {}
            }
            let changes = look_for_changes(&self.place, &self.looks, seen, known.clone()).await;
            let Some((print, changed)) = changes else {
                continue;
            };
            seen = Some(print);
            for (uri, state) in changed {
                known.insert(uri.clone(), state);
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}
