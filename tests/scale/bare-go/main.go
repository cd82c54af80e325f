// The bare client in Go does what bare.rs does with the library that most operators are built on: it lists and watches all
// pods, and makes the same two writes for each failing pod, without diagnosis.
//
// An operator on client-go or controller-runtime has a shared informer. This client has its parts: a Reflector, which decodes
// each pod as JSON (the default content type of client-go) into a corev1.Pod and repeats a list that has expired, and a store
// of all pods. The queue and the handlers of an informer are left out, because they do not report that a list was repeated,
// which the phase `relist` measures. So it has less work than a whole informer. Changes of pods go into a work queue.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

// As in the operator and in bare.rs.
const (
	ownPage      = 100
	writes       = 16
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// The harness counts these lines.
const listedLine = "listed"

var podDiagnoses = schema.GroupVersionResource{Group: "shindan.dev", Version: "v1alpha1", Resource: "poddiagnoses"}

// pod identifies a pod.
type pod struct {
	types.NamespacedName
	uid types.UID
}

// podStore keeps all pods, and queues those that begin to fail. Its Reflector calls it from one goroutine.
type podStore struct {
	cache.Store
	queue workqueue.TypedInterface[pod]
	// reported has the failing pods that were queued, or had a diagnosis before.
	reported map[types.NamespacedName]bool
	once     sync.Once
	listed   chan struct{}
}

func (s *podStore) Add(object any) error {
	s.check(object)
	return s.Store.Add(object)
}

func (s *podStore) Update(object any) error {
	s.check(object)
	return s.Store.Update(object)
}

func (s *podStore) Delete(object any) error {
	if deleted, ok := object.(*corev1.Pod); ok {
		delete(s.reported, nameOf(deleted))
	}
	return s.Store.Delete(object)
}

// Replace receives each complete list.
func (s *podStore) Replace(objects []any, resourceVersion string) error {
	for _, object := range objects {
		s.check(object)
	}
	err := s.Store.Replace(objects, resourceVersion)
	fmt.Println(listedLine)
	s.once.Do(func() { close(s.listed) })
	return err
}

func (s *podStore) check(object any) {
	changed, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	name := nameOf(changed)
	if !fails(changed) {
		delete(s.reported, name)
	} else if !s.reported[name] {
		s.reported[name] = true
		s.queue.Add(pod{name, changed.UID})
	}
}

func nameOf(of *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: of.Namespace, Name: of.Name}
}

func fails(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return false
		}
	}
	return true
}

// bodies are writes of the operator, with `@ns@`, `@name@` and `@uid@` in place of those of the pod.
type bodies struct {
	Diagnosis string `json:"diagnosis"`
	Event     string `json:"event"`
}

func readBodies(path string) (bodies, error) {
	var read bodies
	text, err := os.ReadFile(path)
	if err != nil {
		return read, err
	}
	return read, json.Unmarshal(text, &read)
}

type writer struct {
	bodies    bodies
	diagnoses metadata.Getter
	events    rest.Interface
}

// run writes for the pods of the queue, one after the other.
func (w *writer) run(ctx context.Context, queue workqueue.TypedInterface[pod]) {
	for {
		next, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := w.write(ctx, next); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		queue.Done(next)
	}
}

func (w *writer) write(ctx context.Context, pod pod) error {
	fill := strings.NewReplacer("@ns@", pod.Namespace, "@name@", pod.Name, "@uid@", string(pod.uid)).Replace
	force := true
	options := metav1.PatchOptions{FieldManager: "bare", Force: &force}
	diagnosis := []byte(fill(w.bodies.Diagnosis))
	_, err := w.diagnoses.Namespace(pod.Namespace).Patch(ctx, pod.Name, types.ApplyPatchType, diagnosis, options)
	if err != nil {
		return err
	}
	return w.events.Post().
		Namespace(pod.Namespace).
		Resource("events").
		SetHeader("Content-Type", "application/json").
		SetHeader("Accept", metadataOnly).
		Body([]byte(fill(w.bodies.Event))).
		Do(ctx).
		Error()
}

// reported returns the pods that have a diagnosis.
func reported(ctx context.Context, diagnoses metadata.Getter) (map[types.NamespacedName]bool, error) {
	all := map[types.NamespacedName]bool{}
	options := metav1.ListOptions{Limit: ownPage}
	for {
		page, err := diagnoses.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			all[types.NamespacedName{Namespace: page.Items[i].Namespace, Name: page.Items[i].Name}] = true
		}
		options.Continue = page.Continue
		if options.Continue == "" {
			return all, nil
		}
	}
}

// run ends only with an error.
func run(ctx context.Context, kubeconfig, bodiesPath string, known bool) error {
	bodies, err := readBodies(bodiesPath)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// The operator and bare.rs have no limit either.
	config.QPS = -1
	// One connection with HTTP/2 for the watch and all writes, as all clients of one configuration have in client-go.
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfigAndClient(config, transport)
	if err != nil {
		return err
	}
	metadataClient, err := metadata.NewForConfigAndClient(config, transport)
	if err != nil {
		return err
	}
	diagnoses := metadataClient.Resource(podDiagnoses)
	store := &podStore{
		Store:    cache.NewStore(cache.MetaNamespaceKeyFunc),
		queue:    workqueue.NewTyped[pod](),
		reported: map[types.NamespacedName]bool{},
		listed:   make(chan struct{}),
	}
	if known {
		if store.reported, err = reported(ctx, diagnoses); err != nil {
			return err
		}
	}
	pods := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	go cache.NewReflector(pods, &corev1.Pod{}, store, 0).RunWithContext(ctx)
	<-store.listed
	writer := &writer{bodies: bodies, diagnoses: diagnoses, events: client.EventsV1().RESTClient()}
	var group sync.WaitGroup
	for range writes {
		group.Go(func() { writer.run(ctx, store.queue) })
	}
	group.Wait()
	return nil
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	bodies := flag.String("bodies", "", "path of the bodies of the writes")
	known := flag.Bool("known", false, "skip pods that have a diagnosis already")
	flag.Parse()
	if err := run(context.Background(), *kubeconfig, *bodies, *known); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
