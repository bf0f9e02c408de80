// Package apiserver serves a cluster to the clients of Kubernetes: kubectl, client-go, controller-runtime.
//
// A [Server] is an http.Handler with the paths, the bytes and the errors of kube-apiserver v1.36.3, and an http.RoundTripper for clients of
// the same process, which need no port. It reads the store of a [Backend] and writes through it, so every write passes the defaults, the
// admission and the validation of package store, and appears in the trace.
//
// What a request goes through:
//
//   - request.go: path and query, parsed once into a request; package resources: the table of resources, and what definitions say of them;
//   - negotiate.go: the format of the answer; protobuf.go: answers in protobuf; decode.go: bodies in JSON, YAML and protobuf, with fieldValidation;
//     errors.go: Status objects;
//   - objects.go, patch.go, apply.go, delete.go, list.go: the verbs; package ownership: the managers of fields; selectors.go: label and field
//     selectors;
//   - reviewpass.go: writes that policies and webhooks review, in passes; review.go: the order of the reviews; reviewobjects.go, reviewbody.go:
//     the objects under review; reviewcontrollers.go: what simulated controllers write; scope.go: which writes match;
//   - webhook.go: the webhooks of a cluster; webhookmatch.go: which are asked; webhookmutate.go, webhookvalidate.go: what their answers mean;
//     webhookask.go: what they are shown; package webhooks: the calls;
//   - policy.go: the admission policies of a cluster, and which apply; policymutate.go, policyvalidate.go: what they do; package policytypes:
//     what is wrong in them; package expression: expressions in CEL about requests; podsecurity.go, certificateadmission.go: admission of pods and of
//     certificates;
//   - package kinds: the defaults and the validation of kinds that matter only to clients;
//   - package definition: CustomResourceDefinitions and their schemas; package snapshotdefinitions: those that a cluster has from the start;
//     the files that begin with custom and conversion: how requests use them;
//   - watch.go, stream.go: watches; table.go, package columns: Tables and PartialObjectMetadata; package objectjson: objects in JSON;
//   - package auth: who a client is, and what it may do, from the roles that package rbac reads; accessreviews.go, tokenrequest.go: requests about that;
//   - flowmatch.go and the files that begin with flow: flow control;
//   - discovery.go, package discovery: the groups, the resources, the health; openapi.go, package openapi: their schemas, made from Go types;
//   - package clock: how virtual time passes; clients.go: what was asked to go wrong with clients;
//   - package httpconn: simple requests of a connection, which volsim serve answers without net/http's server.
//
// One lock serializes all requests, and what runs the engine of the cluster takes it, too (see [Server.Do]). Requests can be slowed down,
// and the order of deliveries determined, through [Hooks]. The server never waits with its lock held, so it works inside a bubble of
// testing/synctest.
//
// Not simulated: client certificates, the Node authorizer, CBOR, APIServices in protobuf, proxies, exec, attach, port-forward, the contents of
// logs.
package apiserver
