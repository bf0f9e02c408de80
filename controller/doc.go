// Package controller lets you add a controller of your own to a simulated cluster. It runs beside those of Kubernetes: under the same
// seeds, in virtual time, with caches that lag behind the API server, and with the same faults and crashes.
//
// A [Controller] has a name and a function that starts it. Start creates what the controller keeps in memory: caches ([Watch]), queues
// ([Setup.NewQueue]) and periodic work ([Setup.Every]). It runs again after each crash, with nothing left of the life before.
//
//	c.AddController(controller.Controller{Name: "labeler", Start: func(s *controller.Setup) {
//		queue := s.NewQueue("claims", func(p *controller.Process, key string) error {
//			_, err := controller.Patch[*corev1.PersistentVolumeClaim](p, key, `{"metadata":{"labels":{"seen":"yes"}}}`)
//			return err // an error is retried, with backoff
//		})
//		controller.Watch(s, func(c api.Change[*corev1.PersistentVolumeClaim]) { queue.Add(c.Key) })
//	}})
//
// Code of a controller starts no goroutines and reads no wall clock: it uses [Process.Now], [Process.Sleep] and queues. At each call
// to the API server other controllers may run first.
package controller
