# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of tests/nn/values from real Keras: keras_values.py activation|loss|metric|optimizer|schedule."""
import os; os.environ["TF_CPP_MIN_LOG_LEVEL"]="3"; os.environ["CUDA_VISIBLE_DEVICES"]=""
import json, re, sys, keras, numpy as np, tensorflow as tf
K=keras
def num(shape, off, lo, hi):
    n=int(np.prod(shape)); return (np.fmod(np.arange(n)*0.6180339887498949+off,1.0)*(hi-lo)+lo).astype('f4').reshape(shape)
def q(s): return json.dumps(s).replace('"',"'")
def row(*a): print("    {"+", ".join(a)+"},")
def fl(x): 
    s=repr(float(np.float64(x))) if not isinstance(x,np.float32) else "%.9g"%x
    s="%.9g"%float(x)
    return s
what=sys.argv[1]
if what=="activation":
    x=num((2,4),0.1,-3,3)
    names=sorted(f.__name__ for f in K.src.activations.ALL_OBJECTS if f.__name__!="threshold")+["swish","hard_swish"]
    L=K.layers
    recs=[L.serialize(l) for l in []]
    ident=[(n,n) for n in names]
    extra=[{"class_name":"ReLU","config":{"max_value":2.0,"negative_slope":0.1,"threshold":0.5}},{"class_name":"LeakyReLU","config":{"name":"l","negative_slope":0.3}},{"class_name":"ELU","config":{"alpha":0.7}},{"class_name":"function","config":"gelu","module":"builtins"}]
    def cls(r):
        if r["class_name"]=="function": return K.activations.gelu
        c={k:v for k,v in r["config"].items() if k!="name"}; return getattr(L,r["class_name"])(**c)
    for n in names:
        y=np.asarray(K.activations.get(n)(tf.constant(x)))
        row('"%s"'%q(n), "{"+", ".join(fl(v) for v in y.ravel())+"}")
    for r in extra:
        y=np.asarray(cls(r)(tf.constant(x)))
        row('"%s"'%q(r), "{"+", ".join(fl(v) for v in y.ravel())+"}")
if what=="loss":
    Q=K.losses
    unit=num((6,4),0.3,0.02,0.98); real=num((6,4),0.3,-2,2)
    tu=num((6,4),0.7,0,1); tr=num((6,4),0.7,-2,2)
    tb=(tu>0.5).astype('f4'); ts=np.where(tu>0.5,1,-1).astype('f4')
    cl=(np.arange(6)*3%4).astype('i4'); oh=np.eye(4,dtype='f4')[cl]
    P={"UNIT":unit,"REAL":real}; T={"UNIT":tu,"REAL":tr,"BINARY":tb,"SIGN":ts,"CLASS":cl,"ONE_HOT":oh}
    C=[("mse","REAL","REAL"),("MAE","REAL","REAL"),("mape","REAL","REAL"),("msle","UNIT","UNIT"),("huber","REAL","REAL"),
       (dict(class_name="Huber",config=dict(delta=0.3)),"REAL","REAL"),("log_cosh","REAL","REAL"),("bce","UNIT","BINARY"),("binary_crossentropy","UNIT","UNIT"),
       (dict(class_name="BinaryCrossentropy",config=dict(from_logits=True,label_smoothing=0.1)),"REAL","BINARY"),
       ("CategoricalCrossentropy","UNIT","ONE_HOT"),(dict(class_name="CategoricalCrossentropy",config=dict(from_logits=True,label_smoothing=0.3,axis=-1)),"REAL","ONE_HOT"),
       ("sparse_categorical_crossentropy","UNIT","CLASS"),(dict(class_name="SparseCategoricalCrossentropy",config=dict(from_logits=True)),"REAL","CLASS"),
       (dict(class_name="SparseCategoricalCrossentropy",config=dict(ignore_class=1)),"UNIT","CLASS"),
       ("hinge","REAL","SIGN"),("hinge","REAL","BINARY"),("squared_hinge","REAL","BINARY"),("SquaredHinge","REAL","REAL"),("categorical_hinge","REAL","ONE_HOT"),("KLD","UNIT","UNIT"),("poisson","UNIT","UNIT"),
       ("cosine_similarity","REAL","REAL"),(dict(class_name="BinaryFocalCrossentropy",config=dict(gamma=1.5,apply_class_balancing=True)),"UNIT","BINARY"),
       (dict(class_name="BinaryFocalCrossentropy",config=dict(from_logits=True)),"REAL","BINARY"),
       (dict(class_name="CategoricalFocalCrossentropy",config=dict(from_logits=True,alpha=0.5)),"REAL","ONE_HOT"),("CategoricalFocalCrossentropy","UNIT","ONE_HOT")]
    for r,p,t in C:
        if isinstance(r,str):
            o=Q.get(r); 
            if not isinstance(o,Q.Loss): f=o
            else: f=o.call
        else: f=getattr(Q,r["class_name"])(**r["config"]).call
        y=np.asarray(f(tf.constant(T[t]),tf.constant(P[p])))
        row('"%s"'%q(r),"DATA_"+p,"DATA_"+t,"{"+", ".join(fl(v) for v in y)+"}")
if what=="metric":
    M=K.metrics
    def batch(k,n):
        o=0.13*k
        return dict(P=dict(UNIT=num((n,4),0.55+o,0,1),REAL=num((n,4),0.55+o,-2,2),ONE=num((n,1),0.75+o,0,1)),
           T=dict(UNIT=num((n,4),0.7+o,0,1),REAL=num((n,4),0.7+o,-2,2),BINARY=(num((n,4),0.7+o,0,1)>0.5).astype('f4'),SIGN=np.where(num((n,4),0.7+o,0,1)>0.5,1,-1).astype('f4'),
             CLASS=((np.arange(n)*3+k)%4).astype('i4'),ONE_HOT=np.eye(4,dtype='f4')[((np.arange(n)*3+k)%4)],ONE=(num((n,1),0.9+o,0,1)>0.4).astype('f4')), w=num((n,),0.5+o,0,2))
    def c(n,**k): return dict(class_name=n,config=k)
    C=[("accuracy","ONE","ONE"),("acc","UNIT","ONE_HOT"),("accuracy","UNIT","CLASS"),("BinaryAccuracy","UNIT","BINARY"),(c("BinaryAccuracy",threshold=0.3,name="x"),"UNIT","BINARY"),
       ("categorical_accuracy","UNIT","ONE_HOT"),("sparse_categorical_accuracy","UNIT","CLASS"),(c("TopKCategoricalAccuracy",k=2),"UNIT","ONE_HOT"),(c("SparseTopKCategoricalAccuracy",k=3),"UNIT","CLASS"),
       ("Accuracy","SIGN","SIGN2"),
       ("mse","REAL","REAL"),("RootMeanSquaredError","REAL","REAL"),("mean_absolute_error","REAL","REAL"),("MAPE","REAL","REAL"),("msle","UNIT","UNIT"),("cosine_similarity","REAL","REAL"),("LogCoshError","REAL","REAL"),
       ("hinge","REAL","SIGN"),("SquaredHinge","REAL","BINARY"),("categorical_hinge","REAL","ONE_HOT"),("kl_divergence","UNIT","UNIT"),("Poisson","UNIT","UNIT"),
       (c("BinaryCrossentropy",label_smoothing=0.2),"UNIT","BINARY"),(c("CategoricalCrossentropy",from_logits=True),"REAL","ONE_HOT"),(c("SparseCategoricalCrossentropy",ignore_class=1),"UNIT","CLASS"),
       (c("MeanMetricWrapper",fn={"module":"builtins","class_name":"function","config":"huber"},delta=0.4,name="h"),"REAL","REAL"),
       ("AUC","ONE","ONE"),(c("AUC",num_thresholds=20),"UNIT","BINARY"),(c("AUC",curve="PR",num_thresholds=30),"UNIT","BINARY"),(c("AUC",curve="PR",summation_method="majoring"),"ONE","ONE"),(c("AUC",summation_method="minoring",num_thresholds=7),"UNIT","BINARY"),
       (c("AUC",thresholds=[0.7,0.3,0.45]),"UNIT","BINARY"),(c("AUC",thresholds=[0.25,0.5,0.75]),"UNIT","BINARY"),(c("AUC",from_logits=True,num_thresholds=50),"REAL","BINARY"),(c("AUC",curve="PRGAIN",num_thresholds=50),"UNIT","BINARY"),
       (c("AUC",multi_label=True,num_labels=4,num_thresholds=40),"UNIT","BINARY"),(c("AUC",multi_label=True,num_labels=4,label_weights=[1,2,0.5,0],num_thresholds=40),"UNIT","BINARY"),(c("AUC",label_weights=[1,2,0.5,0.1],num_thresholds=40),"UNIT","BINARY"),
       ("precision","UNIT","BINARY"),("Recall","UNIT","BINARY"),(c("Precision",thresholds=0.7),"ONE","ONE"),(c("Recall",thresholds=[0.2]),"ONE","ONE"),(c("Precision",top_k=2),"UNIT","BINARY"),(c("Recall",top_k=1,class_id=2),"UNIT","BINARY"),(c("Precision",class_id=1,thresholds=0.4),"UNIT","BINARY"),(c("Recall",top_k=3,thresholds=0.6),"UNIT","BINARY"),
       ("TruePositives","UNIT","BINARY"),(c("FalsePositives",thresholds=0.3),"UNIT","BINARY"),("true_negatives","UNIT","BINARY"),("FalseNegatives","UNIT","BINARY"),
       (c("SensitivityAtSpecificity",specificity=0.5,num_thresholds=30),"UNIT","BINARY"),(c("SpecificityAtSensitivity",sensitivity=0.6),"UNIT","BINARY"),(c("PrecisionAtRecall",recall=0.4,num_thresholds=1),"UNIT","BINARY"),(c("RecallAtPrecision",precision=0.5,class_id=1),"UNIT","BINARY"),
       (c("F1Score",average="macro"),"UNIT","ONE_HOT"),(c("F1Score",average="micro",threshold=0.6),"UNIT","ONE_HOT"),(c("FBetaScore",average="weighted",beta=2.0),"UNIT","ONE_HOT"),
       ("r2_score","REAL","REAL"),(c("R2Score",class_aggregation="variance_weighted_average",num_regressors=2),"REAL","REAL")]
    from keras.src.trainers import compile_utils
    for r,p,t in C:
        res=[]
        for weighted in (0,1):
            m=None
            for k in range(2):
                b=batch(k,9+4*k); P=b["P"].get(p, b["T"].get(p))
                T=b["T"].get(t)
                if t=="SIGN2": T=np.where(num((9+4*k,4),0.9+0.13*k,0,1)>0.5,1,-1).astype('f4')
                if m is None:
                    if isinstance(r,str): m=compile_utils.get_metric(r,T,P)
                    elif r["class_name"]=="MeanMetricWrapper": m=M.MeanMetricWrapper(K.losses.huber,delta=0.4,name="h")
                    else: m=getattr(M,r["class_name"])(**r["config"])
                m.update_state(tf.constant(T),tf.constant(P),sample_weight=tf.constant(b["w"]) if weighted else None)
            v=float(np.asarray(m.result())); res.append(v)
        row('"%s"'%q(r),"DATA_"+p,"DATA_"+t,'"%s"'%re.sub(r"_[0-9]+$","",m.name),fl(res[0]),fl(res[1]))
if what=="optimizer":
    O=K.optimizers; S=O.schedules
    def c(n,**k): return dict(class_name=n,config=k)
    C=["SGD",c("SGD",learning_rate=0.02,momentum=0.9),c("SGD",learning_rate=0.02,momentum=0.8,nesterov=True,weight_decay=0.01),c("SGD",learning_rate=0.1,clipnorm=0.5),c("SGD",learning_rate=0.1,clipvalue=0.2),c("SGD",learning_rate=0.1,global_clipnorm=0.7),
       "RMSprop",c("RMSprop",learning_rate=0.003,momentum=0.5,rho=0.8),c("RMSprop",centered=True,momentum=0.9,epsilon=1e-3,weight_decay=0.02),
       "adam",c("Adam",learning_rate=0.01,amsgrad=True,beta_1=0.8,epsilon=1e-4),"AdamW",c("AdamW",weight_decay=0.1,global_clipnorm=0.5),c("Adagrad",learning_rate=0.05,initial_accumulator_value=0.01),
       c("Adadelta",learning_rate=0.5),c("Adamax",learning_rate=0.01),c("Nadam",learning_rate=0.01),c("Ftrl",learning_rate=0.05,l1_regularization_strength=0.01,l2_regularization_strength=0.02,beta=0.1,l2_shrinkage_regularization_strength=0.03),c("Lion",learning_rate=0.003),c("Lamb",learning_rate=0.01,weight_decay=0.05),
       c("SGD",learning_rate=0.05,use_ema=True,ema_momentum=0.9),c("Adam",learning_rate=0.01,use_ema=True,ema_momentum=0.8,ema_overwrite_frequency=2),
       c("SGD",learning_rate=0.05,momentum=0.9,gradient_accumulation_steps=2),c("Nadam",learning_rate=0.01,gradient_accumulation_steps=2,global_clipnorm=0.7),c("Adam",learning_rate=0.01,gradient_accumulation_steps=3,use_ema=True,ema_momentum=0.8,ema_overwrite_frequency=2,clipnorm=0.4,weight_decay=0.1),
       c("Lamb",learning_rate=0.01,gradient_accumulation_steps=2),c("SGD",learning_rate=0.05,loss_scale_factor=4.0),
       c("SGD",learning_rate=dict(class_name="ExponentialDecay",config=dict(initial_learning_rate=0.1,decay_steps=2,decay_rate=0.5)))]
    names=[]
    for r in C:
        n=r if isinstance(r,str) else r["class_name"]; k=dict({} if isinstance(r,str) else r["config"])
        if isinstance(k.get("learning_rate"),dict): k["learning_rate"]=S.ExponentialDecay(**k["learning_rate"]["config"])
        o=O.get(n) if isinstance(r,str) else getattr(O,n)(**k)
        v=[K.Variable(num((3,4),0.2,-1,1),name="a"),K.Variable(num((5,),0.6,-1,1),name="b")]
        o.build(v)
        for s in range(5):
            o.apply([tf.constant(num((3,4),0.1*s,-1,1)),tf.constant(num((5,),0.05+0.1*s,-1,1))])
        vals=[float(np.asarray(x).ravel()[i]) for x in v for i in (0,3)]
        off=1 if isinstance(k.get("learning_rate"),S.LearningRateSchedule) else 2
        sl=o.variables[off:]
        print("    {\"%s\",\n     \"%s\", {%s},\n     %s},"%(q(r)," ".join(x.path.split("/")[-1] for x in sl),", ".join(fl(x) for x in vals),fl(sum(float(np.abs(np.asarray(x,dtype='f8')).sum()) for x in sl))))
if what=="schedule":
    S=K.optimizers.schedules
    steps=[0,1,3,4,5,11,12,13,20,28,1000]
    C=[S.ExponentialDecay(.1,7,.5),S.ExponentialDecay(.1,4,.5,staircase=True),S.PiecewiseConstantDecay([4,12],[.1,.05,.01]),S.PolynomialDecay(.1,12,end_learning_rate=.01),S.PolynomialDecay(.1,30,end_learning_rate=.001,power=2.5),S.PolynomialDecay(.1,6,end_learning_rate=.01,power=.5,cycle=True),
       S.InverseTimeDecay(.1,5,.7),S.InverseTimeDecay(.1,5,.7,staircase=True),S.CosineDecay(.1,15,alpha=.1),S.CosineDecay(0.0,12,warmup_target=.1,warmup_steps=6),S.CosineDecay(0.01,12,warmup_target=.1,warmup_steps=4,alpha=.2),S.CosineDecayRestarts(.1,4,t_mul=2.0,m_mul=.7,alpha=.05),S.CosineDecayRestarts(.1,5,t_mul=1.0,m_mul=.9),S.CosineDecayRestarts(.1,7,t_mul=1.5)]
    print("//",steps)
    for s in C:
        r=S.serialize(s); d={k:v for k,v in r.items() if k in("class_name","config")}
        print("    {\"%s\",\n     {%s}},"%(q(d),", ".join(fl(np.asarray(s(tf.constant(t,dtype='int64')))) for t in steps)))
